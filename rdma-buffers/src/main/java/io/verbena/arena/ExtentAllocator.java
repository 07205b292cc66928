package io.verbena.arena;

/**
 * Two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004): constant-time allocate and free with immediate
 * coalescing. The bookkeeping is on the heap, so that a segment holds nothing but its users' bytes.
 *
 * <p>Shape: sizes are counted in units of {@link #GRANULARITY}. Size class = (position of the highest bit, next
 * {@link #SECOND_BITS} bits), so classes are 1/32 apart; a bitmap per level finds the first class that is not empty.
 *
 * <pre>
 * units   = 1 0110 1100...
 *           | |--- second-level index (5 bits)
 *           +----- first-level index = bit position
 * </pre>
 *
 * <p>Threads: none of its own; every call is under the arena's lock.
 */
final class ExtentAllocator {
    /** In bytes: a cache line, so that two tasks never write the same one. */
    static final long GRANULARITY = 64;

    private static final int UNIT_BITS = 6;
    private static final int SECOND_BITS = 5;
    private static final int SECOND_COUNT = 1 << SECOND_BITS;
    /** Segments have at most 2^30 bytes = 2^24 units. */
    private static final int FIRST_COUNT = 25;
    /** How many extents of a request's own class are tried; the class holds some that are too small. */
    private static final int OWN_CLASS_TRIES = 16;

    private final Extent[] heads = new Extent[FIRST_COUNT << SECOND_BITS];
    private final int[] secondMaps = new int[FIRST_COUNT];
    private int firstMap;
    private long freeBytes;

    /** Returns the bytes that a lease of {@code bytes} holds. */
    static long held(long bytes) {
        return Math.max(GRANULARITY, (bytes + GRANULARITY - 1) & -GRANULARITY);
    }

    long freeBytes() {
        return freeBytes;
    }

    /** Makes a new segment's memory available. */
    void add(ArenaSegment segment) {
        link(segment.first);
    }

    /** Takes an empty segment's memory away. */
    void remove(ArenaSegment segment) {
        if (segment.usedExtents != 0 || segment.first.after != null) {
            throw new IllegalStateException("cannot remove a segment in use: usedExtents=" + segment.usedExtents);
        }
        unlink(segment.first);
    }

    /**
     * Returns an extent of exactly {@code length} bytes, or null if no free extent is large enough.
     *
     * @param length multiple of the granularity, at least one granule
     */
    Extent allocate(long length) {
        Extent found = find(length);
        if (found == null) {
            return null;
        }
        unlink(found);
        found.segment.usedExtents++;
        splitTail(found, length);
        return found;
    }

    /** Returns an extent in use to the free ones and joins it with free neighbours. */
    void free(Extent extent, long nowNs) {
        ArenaSegment segment = extent.segment;
        segment.usedExtents--;
        if (segment.usedExtents == 0) {
            segment.emptySinceNs = nowNs;
        }
        joinAndLink(extent);
    }

    /** Gives back what an extent in use has beyond {@code length}. */
    void shrink(Extent extent, long length) {
        splitTail(extent, length);
    }

    private void splitTail(Extent extent, long length) {
        long rest = extent.length - length;
        if (rest == 0) {
            return;
        }
        Extent tail = new Extent(extent.segment, extent.offset + length, rest);
        extent.length = length;
        tail.before = extent;
        tail.after = extent.after;
        if (tail.after != null) {
            tail.after.before = tail;
        }
        extent.after = tail;
        joinAndLink(tail);
    }

    private void joinAndLink(Extent extent) {
        Extent joined = extent;
        Extent after = joined.after;
        if (after != null && after.free) {
            unlink(after);
            absorbNext(joined);
        }
        Extent before = joined.before;
        if (before != null && before.free) {
            unlink(before);
            absorbNext(before);
            joined = before;
        }
        link(joined);
    }

    private static void absorbNext(Extent extent) {
        Extent next = extent.after;
        extent.length += next.length;
        extent.after = next.after;
        if (extent.after != null) {
            extent.after.before = extent;
        }
    }

    private Extent find(long length) {
        long units = length >> UNIT_BITS;
        int first = 63 - Long.numberOfLeadingZeros(units);
        // Round up to the next class, every member of which is large enough.
        long rounded = first > SECOND_BITS ? units + (1L << (first - SECOND_BITS)) - 1 : units;
        Extent fit = firstIn(sizeClass(rounded));
        return fit != null ? fit : findInOwnClass(sizeClass(units), length);
    }

    private Extent firstIn(int sizeClass) {
        int first = sizeClass >> SECOND_BITS;
        if (first >= FIRST_COUNT) {
            return null;
        }
        int second = secondMaps[first] & (-1 << (sizeClass & (SECOND_COUNT - 1)));
        if (second == 0) {
            int larger = first == FIRST_COUNT - 1 ? 0 : firstMap & (-1 << (first + 1));
            if (larger == 0) {
                return null;
            }
            first = Integer.numberOfTrailingZeros(larger);
            second = secondMaps[first];
        }
        return heads[(first << SECOND_BITS) + Integer.numberOfTrailingZeros(second)];
    }

    /** Finds what rounding up misses, such as an empty segment of an odd size for a request of just that size. */
    private Extent findInOwnClass(int sizeClass, long length) {
        Extent candidate = heads[sizeClass];
        for (int tries = 0; candidate != null && tries < OWN_CLASS_TRIES; tries++) {
            if (candidate.length >= length) {
                return candidate;
            }
            candidate = candidate.nextFree;
        }
        return null;
    }

    private static int sizeClass(long units) {
        int first = 63 - Long.numberOfLeadingZeros(units);
        int second = first >= SECOND_BITS
                ? (int) (units >> (first - SECOND_BITS)) & (SECOND_COUNT - 1)
                : (int) (units << (SECOND_BITS - first)) & (SECOND_COUNT - 1);
        return (first << SECOND_BITS) + second;
    }

    private void link(Extent extent) {
        int sizeClass = sizeClass(extent.length >> UNIT_BITS);
        Extent head = heads[sizeClass];
        extent.free = true;
        extent.previousFree = null;
        extent.nextFree = head;
        if (head != null) {
            head.previousFree = extent;
        }
        heads[sizeClass] = extent;
        secondMaps[sizeClass >> SECOND_BITS] |= 1 << (sizeClass & (SECOND_COUNT - 1));
        firstMap |= 1 << (sizeClass >> SECOND_BITS);
        freeBytes += extent.length;
    }

    private void unlink(Extent extent) {
        int sizeClass = sizeClass(extent.length >> UNIT_BITS);
        if (extent.previousFree != null) {
            extent.previousFree.nextFree = extent.nextFree;
        } else {
            heads[sizeClass] = extent.nextFree;
        }
        if (extent.nextFree != null) {
            extent.nextFree.previousFree = extent.previousFree;
        }
        if (heads[sizeClass] == null) {
            int first = sizeClass >> SECOND_BITS;
            secondMaps[first] &= ~(1 << (sizeClass & (SECOND_COUNT - 1)));
            if (secondMaps[first] == 0) {
                firstMap &= ~(1 << first);
            }
        }
        extent.free = false;
        extent.previousFree = null;
        extent.nextFree = null;
        freeBytes -= extent.length;
    }
}
