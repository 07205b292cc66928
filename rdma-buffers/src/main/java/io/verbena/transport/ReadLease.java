package io.verbena.transport;

/**
 * While it is open, the serving side does not reuse the memory that its key protects.
 *
 * <p>Threads: any; close is idempotent.
 */
public interface ReadLease extends AutoCloseable {
    /** Returns what it protects; the meaning is the caller's (a shuffle id, say). */
    int key();

    /** Gives it back; views obtained under it must not be used any more. */
    @Override
    void close();
}
