package io.verbena.registration;

/**
 * A registered range of a file, as {@link MrCache} keeps it.
 *
 * <p>Threads: the mutable fields are guarded by the cache's lock.
 */
final class MappedRange {
    final MappedFile home;
    final long offset;
    final long end;
    final FilePinner.Pinned pinned;
    int leases;

    /** No look-up finds it any more; the last lease gives it back. */
    boolean dropped;

    MappedRange(MappedFile home, long offset, FilePinner.Pinned pinned) {
        this.home = home;
        this.offset = offset;
        this.end = offset + pinned.mapping().segment().length();
        this.pinned = pinned;
    }

    long bytes() {
        return end - offset;
    }
}
