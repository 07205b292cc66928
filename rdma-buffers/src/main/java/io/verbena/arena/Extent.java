package io.verbena.arena;

/** A run of bytes in a segment, free or in use. Guarded by the arena's lock, except segment and offset, which do not change. */
final class Extent {
    final ArenaSegment segment;
    final long offset;

    /** In bytes, a multiple of {@link ExtentAllocator#GRANULARITY}. */
    long length;

    /** Neighbours in address order, null at the ends of the segment. */
    Extent before;

    Extent after;

    /** Neighbours in the list of its size class, while it is free. */
    Extent previousFree;

    Extent nextFree;

    boolean free;

    /** Who holds it, null while it is free. */
    RegisteredBuffer holder;

    Extent(ArenaSegment segment, long offset, long length) {
        this.segment = segment;
        this.offset = offset;
        this.length = length;
    }
}
