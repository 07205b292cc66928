package io.verbena.shuffle.metadata;

/**
 * Block ids that carry our control plane over Spark's own block transfer. Spark never makes a negative map id (it is a task
 * attempt id) or a negative reduce id, so these cannot meet a real block.
 *
 * <pre>
 *   shuffle_0_-1_0              endpoint descriptor of the executor
 *   shuffle_S_-2_0              directory of the map outputs of shuffle S held by the executor
 *   shuffle_S_M_-1              where the file of map output M can be read directly; asks for it to be made so
 *   shuffle_S_M_-(a+1)_-(b+1)   blocks [a, b) of map output M, in a frame that describes itself (an id of a batch)
 * </pre>
 */
public final class ReservedBlocks {
    /** Map id under which an executor describes its memory and transports. */
    public static final long ENDPOINT_MAP_ID = -1;

    /** Map id under which an executor lists the map outputs it holds. */
    public static final long DIRECTORY_MAP_ID = -2;

    /** Reduce id under which an executor makes a map output's file readable and tells where it is. */
    public static final int PIN_REDUCE_ID = -1;

    private ReservedBlocks() {}

    /** Name of the endpoint descriptor's block. */
    public static String endpoint() {
        return "shuffle_0_" + ENDPOINT_MAP_ID + "_0";
    }

    /** Name of the directory's block. */
    public static String directory(int shuffleId) {
        return "shuffle_" + shuffleId + "_" + DIRECTORY_MAP_ID + "_0";
    }

    /** Name under which the file of a map output is asked to be made readable. */
    public static String pin(int shuffleId, long mapId) {
        return "shuffle_" + shuffleId + "_" + mapId + "_" + PIN_REDUCE_ID;
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

    /** True when a batch id with this start asks for a frame. */
    public static boolean isFrame(int startReduceId) {
        return startReduceId < 0;
    }
}
