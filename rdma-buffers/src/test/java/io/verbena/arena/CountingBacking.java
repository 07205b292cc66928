package io.verbena.arena;

import io.verbena.memory.BackingException;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.Segment;
import io.verbena.memory.SegmentBacking;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** Plain memory that counts, and can be told to refuse or to wait. */
final class CountingBacking implements SegmentBacking {
    private final SegmentBacking plain;
    private long liveBytes;
    private long peakBytes;
    private int refuseAfter = Integer.MAX_VALUE;
    private CountDownLatch entered;
    private CountDownLatch gate;

    CountingBacking(long segmentBytes) {
        plain = Backings.choose(new BackingOptions("plain", null, null, "test", segmentBytes));
    }

    synchronized void refuseAfter(int segments) {
        refuseAfter = segments;
    }

    synchronized void block(CountDownLatch whenEntered, CountDownLatch until) {
        entered = whenEntered;
        gate = until;
    }

    synchronized long liveBytes() {
        return liveBytes;
    }

    synchronized long peakBytes() {
        return peakBytes;
    }

    @Override
    public String name() {
        return "counting";
    }

    @Override
    public Segment allocate(int id, long bytes) throws BackingException {
        CountDownLatch wait;
        synchronized (this) {
            if (refuseAfter == 0) {
                throw new BackingException("told to refuse");
            }
            refuseAfter--;
            liveBytes += bytes;
            peakBytes = Math.max(peakBytes, liveBytes);
            if (entered != null) {
                entered.countDown();
            }
            wait = gate;
        }
        if (wait != null) {
            try {
                wait.await();
            } catch (InterruptedException e) {
                throw new BackingException("interrupted", e);
            }
        }
        return plain.allocate(id, bytes);
    }

    @Override
    public void free(Segment segment) {
        plain.free(segment);
        synchronized (this) {
            liveBytes -= segment.length();
        }
    }

    @Override
    public Path ownerDirectory() {
        return null;
    }

    @Override
    public void close() {
        plain.close();
    }
}
