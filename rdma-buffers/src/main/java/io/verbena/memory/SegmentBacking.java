package io.verbena.memory;

import java.nio.file.Path;

/**
 * Where segments come from: huge pages, shared memory or plain memory.
 *
 * <p>Ownership: the caller frees every segment before {@link #close}; close frees what is left.
 * <p>Threads: any.
 */
public interface SegmentBacking extends AutoCloseable {
    /** Returns the kind that the next segment would come from: {@code hugetlbfs}, {@code shm} or {@code plain}. */
    String name();

    /**
     * Returns memory that is reserved and touched: using it can never raise a SIGBUS later.
     *
     * @param id ordinal of the segment, never used before in this process
     * @param bytes size, a multiple of the page size of the backing, at most {@link Segment#MAX_BYTES}
     * @throws BackingException if the memory cannot be had now; nothing is left behind
     */
    Segment allocate(int id, long bytes) throws BackingException;

    /**
     * Unlinks (never truncates: a truncated mapping is a SIGBUS in a neighbour) and unmaps. Neighbours that have mapped the
     * segment keep their view of it.
     */
    void free(Segment segment);

    /** Returns the directory that neighbours look into, or null when nothing here can be shared. */
    Path ownerDirectory();

    /** Frees the segments that are left and removes the owner directory. */
    @Override
    void close();
}
