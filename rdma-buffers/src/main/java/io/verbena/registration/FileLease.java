package io.verbena.registration;

/**
 * Keeps a range of a file registered until it is closed.
 *
 * <p>Ownership: the taker closes it, once or more. Threads: immutable, close from any.
 */
public interface FileLease extends AutoCloseable {
    /** Returns the region that covers the range, and perhaps more. */
    MemoryRegion region();

    /** Returns the absolute address of the range's first byte. */
    long address();

    /** The range may be evicted from here on. */
    @Override
    void close();
}
