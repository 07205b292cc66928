package io.verbena.shuffle.metadata;

/**
 * Blocks of one run as a reader has them in memory: a whole image, or the part of one that was read.
 *
 * <p>Ownership: a view; whoever made it keeps the memory valid. Threads: confined to one thread.
 */
public interface RunBlocks {
    /** How the slices are encoded. */
    BlockLayout layout();

    /** Absolute address of a partition's slice. */
    long sliceAddress(int partition);

    /** Length of a partition's slice in bytes, 0 when it is empty. */
    long sliceLength(int partition);

    /** Bytes of the slices of {@code [startPartition, endPartition)}, which lie one behind the other. */
    long rangeLength(int startPartition, int endPartition);

    /**
     * Compares a slice with its checksum.
     *
     * @throws CorruptMetadataException if it differs
     */
    void verify(int partition) throws CorruptMetadataException;
}
