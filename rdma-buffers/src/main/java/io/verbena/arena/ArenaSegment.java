package io.verbena.arena;

import io.verbena.registration.MemoryRegion;

/** A segment as the arena sees it. Guarded by the arena's lock, except the region, which is immutable. */
final class ArenaSegment {
    final MemoryRegion region;

    /** Head of the list of extents in address order; its offset is always 0. */
    final Extent first;

    /** Extents that are in use: leased or quarantined. */
    int usedExtents;

    /** When the last extent in use was freed, on the clock of {@link System#nanoTime}. */
    long emptySinceNs;

    ArenaSegment(MemoryRegion region, long nowNs) {
        this.region = region;
        this.first = new Extent(this, 0, region.segment().length());
        this.emptySinceNs = nowNs;
    }
}
