package io.verbena.arena;

import io.verbena.memory.Segment;

/**
 * How large an arena may become and how it grows.
 *
 * @param budgetBytes strict bound on the memory in segments, in bytes: leased, quarantined and free together
 * @param segmentBytes size of a segment and so of the largest lease, in bytes
 * @param growthSegments how many segments a growth asks for at once (the size of a registration batch)
 * @param exactLeakTracking record the caller's stack frame of every lease (a walk of the stack: microseconds each, so for tests and for hunting leaks)
 */
public record ArenaOptions(long budgetBytes, long segmentBytes, int growthSegments, boolean exactLeakTracking) {
    /** Checks the ranges. */
    public ArenaOptions {
        if (segmentBytes < 4096 || segmentBytes > Segment.MAX_BYTES || segmentBytes % 4096 != 0) {
            throw new IllegalArgumentException("segmentBytes=" + segmentBytes
                    + " is not a multiple of 4096 between 4096 and " + Segment.MAX_BYTES);
        }
        if (budgetBytes < 0) {
            throw new IllegalArgumentException("budgetBytes=" + budgetBytes + " is negative");
        }
        if (growthSegments < 1) {
            throw new IllegalArgumentException("growthSegments=" + growthSegments + " is less than 1");
        }
    }
}
