package io.verbena.shuffle.metadata;

/**
 * Block ids that carry our control plane over Spark's own block transfer. Spark never makes a negative map id (it is a task
 * attempt id) or a negative reduce id, so these cannot meet a real block.
 *
 * <pre>
 *   shuffle_0_-1_0              endpoint descriptor of the executor
 *   shuffle_S_-2_0              directory of the map outputs of shuffle S held by the executor
 *   shuffle_S_M_-(a+1)_b        where blocks [a, b) of map output M lie in its file; asks for it to be made readable (a batch's id)
 *   shuffle_S_M_-(a+1)_-(b+1)   blocks [a, b) of map output M, in a frame that describes itself (a batch's id)
 * </pre>
 */
public final class ReservedBlocks {
    /** Map id under which an executor describes its memory and transports. */
    public static final long ENDPOINT_MAP_ID = -1;

    /** Map id under which an executor lists the map outputs it holds. */
    public static final long DIRECTORY_MAP_ID = -2;

    private ReservedBlocks() {}

    /** Name of the endpoint descriptor's block. */
    public static String endpoint() {
        return "shuffle_0_" + ENDPOINT_MAP_ID + "_0";
    }

    /** Name of the directory's block. */
    public static String directory(int shuffleId) {
        return "shuffle_" + shuffleId + "_" + DIRECTORY_MAP_ID + "_0";
    }

    /** Name under which the file of a map output is asked to be made readable, for its blocks {@code [startReduceId, endReduceId)}. */
    public static String pin(int shuffleId, long mapId, int startReduceId, int endReduceId) {
        return "shuffle_" + shuffleId + "_" + mapId + "_" + encodeReduceId(startReduceId) + "_" + endReduceId;
    }

    /** Name under which the blocks {@code [startReduceId, endReduceId)} of one map output are fetched in a frame. */
    public static String frame(int shuffleId, long mapId, int startReduceId, int endReduceId) {
        return "shuffle_" + shuffleId + "_" + mapId + "_" + encodeReduceId(startReduceId) + "_"
                + encodeReduceId(endReduceId);
    }

    /** Maps a reduce id to its reserved counterpart and back. */
    public static int encodeReduceId(int reduceId) {
        return -1 - reduceId;
    }

    /** True when a batch id with this range asks for a frame. */
    public static boolean isFrame(int startReduceId, int endReduceId) {
        return startReduceId < 0 && endReduceId < 0;
    }

    /** True when a batch id with this range asks for a file to be made readable. */
    public static boolean isPin(int startReduceId, int endReduceId) {
        return startReduceId < 0 && endReduceId >= 0;
    }
}
