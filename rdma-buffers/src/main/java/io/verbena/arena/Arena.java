package io.verbena.arena;

import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Leases extents of registered memory. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class Arena implements AutoCloseable {
    /** Creates an empty arena; the backing and the registrar stay the caller's to close. */
    public Arena(ArenaOptions options, SegmentBacking backing, Registrar registrar) {
        throw new UnsupportedOperationException(options + backing.name() + registrar.statistics());
    }

    /** Returns a lease or null. */
    public RegisteredBuffer tryAcquire(long bytes) {
        throw new UnsupportedOperationException("" + bytes);
    }

    /** Quarantines. */
    public void retire(RegisteredBuffer buffer, BooleanSupplier unread) {
        throw new UnsupportedOperationException("" + buffer + unread);
    }

    /** Polls the quarantine now; returns buffers freed. */
    public int reclaim() {
        throw new UnsupportedOperationException();
    }

    /** Grows ahead of need. */
    public void prewarm(long bytes) {
        throw new UnsupportedOperationException("" + bytes);
    }

    /** Frees idle segments. */
    public int trim(long idleNs) {
        throw new UnsupportedOperationException("" + idleNs);
    }

    /** Returns a snapshot of the registered segments. */
    public List<MemoryRegion> regions() {
        throw new UnsupportedOperationException();
    }

    /** Returns the region of a segment, null if unknown. */
    public MemoryRegion region(int segmentId) {
        throw new UnsupportedOperationException("" + segmentId);
    }

    /** Returns a snapshot. */
    public ArenaStatistics statistics() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
