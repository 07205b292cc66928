package io.verbena.shuffle.metadata;

/**
 * The part of a run's index that a reduce task needs: neighbouring windows, which lie one behind the other.
 *
 * @param partitions of the shuffle
 * @param firstWindow the first
 * @param endWindow one past the last
 */
public record IndexSpan(int partitions, int firstWindow, int endWindow) {
    /**
     * An index of no more partitions is taken whole, to be read once for all tasks: 4.5 KB per run, so 45 MB of heap for 10,000.
     */
    private static final int WHOLE_PARTITIONS = 512;

    /** The whole index. */
    public static IndexSpan whole(int partitions) {
        return new IndexSpan(partitions, 0, IndexWindows.count(partitions));
    }

    /** What a task needs that reads {@code [startReduceId, endReduceId)}, or the whole if that is not much. */
    public static IndexSpan of(int startReduceId, int endReduceId, int partitions) {
        return partitions <= WHOLE_PARTITIONS
                ? whole(partitions)
                : new IndexSpan(partitions, startReduceId / IndexWindows.PARTITIONS, IndexWindows.count(endReduceId));
    }

    /** Whether it is the whole index. */
    public boolean isWhole() {
        return firstWindow == 0 && endWindow == IndexWindows.count(partitions);
    }

    /** The first partition. */
    public int startReduceId() {
        return firstWindow * IndexWindows.PARTITIONS;
    }

    /** One past the last partition. */
    public int endReduceId() {
        return Math.min(partitions, endWindow * IndexWindows.PARTITIONS);
    }

    /** Where it begins, from the start of the run image, in bytes. */
    public int offset() {
        return RunHead.BYTES + firstWindow * IndexWindows.BYTES;
    }

    /** Its bytes. */
    public int bytes() {
        return (endWindow - firstWindow) * IndexWindows.BYTES;
    }
}
