package io.verbena.arena;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.memory.BackingException;
import io.verbena.memory.Segment;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases extents of registered memory, under a strict budget over all memory in segments: leased, quarantined and free.
 *
 * <p>Segments stay registered when they empty, so that the steady state neither registers nor touches fresh pages.
 * <p>Ownership: {@link #tryAcquire} makes the caller the only writer until {@link RegisteredBuffer#release} or {@link #retire}.
 * The backing and the registrar stay their creator's to close, after the arena.
 * <p>Shape: a lease never crosses a segment, so it has exactly one lkey and one rkey.
 * <p>Threads: any. All state is guarded by {@code lock}, which is never held across a call of the backing, the registrar or an
 * unread condition. Growth reserves its bytes under the lock before it allocates, so concurrent growers cannot overshoot.
 */
public final class Arena implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Arena.class);

    /** Ids are unique in the process: a file of a segment and a peer's view of it are named by them. */
    private static final AtomicInteger NEXT_SEGMENT_ID = new AtomicInteger();

    /** A growth writes and registers segments; above this something hangs and the caller is better off without memory. */
    private static final long GROWTH_WAIT_NS = TimeUnit.SECONDS.toNanos(30);
    /** After a refusal by the backing, so that a full /dev/shm is not written to by every task. */
    private static final long GROWTH_PAUSE_NS = TimeUnit.SECONDS.toNanos(1);

    private final ArenaOptions options;
    private final SegmentBacking backing;
    private final Registrar registrar;
    private final Quarantine quarantine = new Quarantine(this::freeReclaimed);

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition grown = lock.newCondition();

    @GuardedBy("lock")
    private final ExtentAllocator allocator = new ExtentAllocator();

    @GuardedBy("lock")
    private final Map<Integer, ArenaSegment> segments = new LinkedHashMap<>();

    /** Segments held, growing or being freed: what the budget counts. */
    @GuardedBy("lock")
    private long reservedBytes;

    @GuardedBy("lock")
    private int growers;

    @GuardedBy("lock")
    private long pausedUntilNs = System.nanoTime();

    @GuardedBy("lock")
    private long committedBytes;

    @GuardedBy("lock")
    private long leasedBytes;

    @GuardedBy("lock")
    private long peakLeasedBytes;

    @GuardedBy("lock")
    private long quarantinedBytes;

    @GuardedBy("lock")
    private int leases;

    @GuardedBy("lock")
    private long refusals;

    @GuardedBy("lock")
    private long growths;

    @GuardedBy("lock")
    private boolean closed;

    /** Creates an arena that holds nothing yet. */
    public Arena(ArenaOptions options, SegmentBacking backing, Registrar registrar) {
        this.options = options;
        this.backing = backing;
        this.registrar = registrar;
    }

    /**
     * Leases memory; its content is undefined. Blocks while segments are made, which costs a first touch of their pages: keep
     * ahead of it with {@link #prewarm}.
     *
     * @param bytes what is needed; the lease holds that rounded up to 64
     * @return null, counted as a refusal, when it is over budget or larger than a segment, or no backing gives more
     * @throws IllegalStateException if closed
     */
    public RegisteredBuffer tryAcquire(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("bytes=" + bytes + " is negative");
        }
        long length = ExtentAllocator.held(Math.min(bytes, Segment.MAX_BYTES + 1));
        String site = AllocationSites.current(options.exactLeakTracking());
        boolean mayFit = length <= options.segmentBytes();
        RegisteredBuffer buffer = mayFit ? lease(bytes, length, site) : null;
        if (buffer == null && mayFit) {
            long deadlineNs = System.nanoTime() + GROWTH_WAIT_NS;
            boolean progress = true;
            while (buffer == null && progress && System.nanoTime() - deadlineNs < 0) {
                progress = reclaim() > 0 || grow(options.growthSegments()) || awaitGrowth(deadlineNs);
                buffer = lease(bytes, length, site);
            }
        }
        if (buffer == null) {
            countRefusal();
        }
        return buffer;
    }

    /**
     * Ends a lease whose memory a reader may still read. The buffer is dead for the caller; its memory is reused only after the
     * condition has returned true, and counts against the budget until then.
     *
     * @param unread asked again and again by any thread until it is true; must not block. Buffers that share the condition
     *     object share one call per poll
     * @throws IllegalStateException if the buffer is posted or not held
     */
    public void retire(RegisteredBuffer buffer, BooleanSupplier unread) {
        lock.lock();
        try {
            buffer.markRetired(this);
            leases--;
            leasedBytes -= buffer.extent().length;
            quarantinedBytes += buffer.extent().length;
            // Under the lock, so that close either drains it or still finds its segment. Order: lock, then the
            // quarantine's.
            quarantine.add(buffer, unread);
        } finally {
            lock.unlock();
        }
    }

    /** Polls the quarantine now; returns the number of buffers freed. */
    public int reclaim() {
        return quarantine.poll();
    }

    /**
     * Grows until {@code bytes} are free, as far as budget and backing allow. Blocks; call it from a background thread.
     *
     * @param bytes in bytes
     */
    public void prewarm(long bytes) {
        boolean progress = true;
        while (progress) {
            long missing = bytes - freeBytes();
            long needed = (missing + options.segmentBytes() - 1) / options.segmentBytes();
            progress = missing > 0 && grow((int) Math.min(needed, options.growthSegments()));
        }
    }

    /**
     * Deregisters and frees segments without a lease.
     *
     * @param idleNs how long they must have been empty, in nanoseconds
     * @return how many were freed
     */
    public int trim(long idleNs) {
        long nowNs = System.nanoTime();
        List<MemoryRegion> idle = new ArrayList<>();
        lock.lock();
        try {
            for (ArenaSegment segment : List.copyOf(segments.values())) {
                if (segment.usedExtents == 0 && nowNs - segment.emptySinceNs >= idleNs) {
                    takeOut(segment);
                    idle.add(segment.region);
                }
            }
        } finally {
            lock.unlock();
        }
        giveBack(idle);
        return idle.size();
    }

    /** Returns a snapshot of the registered segments, for the endpoint descriptor. */
    public List<MemoryRegion> regions() {
        lock.lock();
        try {
            return segments.values().stream().map(segment -> segment.region).toList();
        } finally {
            lock.unlock();
        }
    }

    /** Returns the region of a segment, null if the arena does not hold it. */
    public MemoryRegion region(int segmentId) {
        lock.lock();
        try {
            ArenaSegment segment = segments.get(segmentId);
            return segment == null ? null : segment.region;
        } finally {
            lock.unlock();
        }
    }

    /** Returns a consistent snapshot. */
    public ArenaStatistics statistics() {
        lock.lock();
        try {
            return new ArenaStatistics(
                    options.budgetBytes(),
                    committedBytes,
                    leasedBytes,
                    peakLeasedBytes,
                    quarantinedBytes,
                    leases,
                    segments.size(),
                    refusals,
                    growths);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Deregisters and frees every segment without a live lease. Quarantined memory is freed whatever its condition says: it is
     * deregistered first, and a neighbour that has mapped it keeps its own reference to the pages.
     *
     * @throws LeakException if leases are live. Their segments stay registered and mapped, because holders, devices and peers
     *     may still touch them; nothing new can be leased. Release them and close again.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
        freeReclaimed(quarantine.drain());
        long deadlineNs = System.nanoTime() + GROWTH_WAIT_NS;
        while (awaitGrowth(deadlineNs)) {
            LOG.debug("waiting for growth to end before closing");
        }
        trim(Long.MIN_VALUE);
        LeakException leak = findLeaks();
        if (leak != null) {
            throw leak;
        }
    }

    /** Returns the bytes that are neither leased nor quarantined. */
    long freeBytes() {
        lock.lock();
        try {
            return allocator.freeBytes();
        } finally {
            lock.unlock();
        }
    }

    /** Ends a lease, on behalf of the buffer. */
    void free(Extent extent) {
        lock.lock();
        try {
            freeLocked(extent, false);
        } finally {
            lock.unlock();
        }
    }

    /** Gives back the tail of a lease, on behalf of the buffer. */
    void shrink(Extent extent, long length) {
        lock.lock();
        try {
            leasedBytes -= extent.length - length;
            allocator.shrink(extent, length);
        } finally {
            lock.unlock();
        }
    }

    private RegisteredBuffer lease(long bytes, long length, String site) {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("arena is closed: cannot lease bytes=" + bytes + " for " + site);
            }
            Extent extent = allocator.allocate(length);
            if (extent == null) {
                return null;
            }
            leases++;
            leasedBytes += length;
            peakLeasedBytes = Math.max(peakLeasedBytes, leasedBytes);
            extent.holder = new RegisteredBuffer(this, extent, bytes, site);
            return extent.holder;
        } finally {
            lock.unlock();
        }
    }

    private void freeReclaimed(List<RegisteredBuffer> buffers) {
        lock.lock();
        try {
            for (RegisteredBuffer buffer : buffers) {
                buffer.markReclaimed();
                freeLocked(buffer.extent(), true);
            }
        } finally {
            lock.unlock();
        }
    }

    @GuardedBy("lock")
    private void freeLocked(Extent extent, boolean quarantined) {
        if (quarantined) {
            quarantinedBytes -= extent.length;
        } else {
            leasedBytes -= extent.length;
            leases--;
        }
        extent.holder = null;
        allocator.free(extent, System.nanoTime());
    }

    private void countRefusal() {
        lock.lock();
        try {
            refusals++;
        } finally {
            lock.unlock();
        }
    }

    /** Adds up to {@code wanted} segments; returns whether it added any. */
    private boolean grow(int wanted) {
        int granted = reserve(wanted);
        if (granted == 0) {
            return false;
        }
        List<MemoryRegion> added = List.of();
        try {
            added = makeSegments(granted);
        } finally {
            finishGrowth(granted, added);
        }
        return !added.isEmpty();
    }

    private int reserve(int wanted) {
        lock.lock();
        try {
            if (closed || System.nanoTime() - pausedUntilNs < 0) {
                return 0;
            }
            long room = (options.budgetBytes() - reservedBytes) / options.segmentBytes();
            // While others grow, a batch of theirs is on its way: take only what this caller needs.
            int granted = (int) Math.min(room, growers > 0 ? 1 : wanted);
            if (granted > 0) {
                reservedBytes += granted * options.segmentBytes();
                growers++;
            }
            return Math.max(granted, 0);
        } finally {
            lock.unlock();
        }
    }

    private List<MemoryRegion> makeSegments(int count) {
        List<Segment> made = new ArrayList<>(count);
        List<MemoryRegion> regions = List.of();
        try {
            allocateInto(made, count);
            regions = registrar.register(made);
        } catch (IllegalStateException e) {
            LOG.warn("arena cannot grow: segments={} were not registered", made.size(), e);
        } finally {
            if (regions.isEmpty()) {
                made.forEach(backing::free);
            }
        }
        return regions;
    }

    private void allocateInto(List<Segment> made, int count) {
        try {
            while (made.size() < count) {
                made.add(backing.allocate(NEXT_SEGMENT_ID.getAndIncrement(), options.segmentBytes()));
            }
        } catch (BackingException e) {
            LOG.warn("arena cannot grow: segments={}, wanted={}: {}", made.size(), count, e.getMessage());
        }
    }

    private void finishGrowth(int granted, List<MemoryRegion> added) {
        long nowNs = System.nanoTime();
        lock.lock();
        try {
            growers--;
            reservedBytes -= (granted - added.size()) * options.segmentBytes();
            committedBytes += added.size() * options.segmentBytes();
            if (added.size() < granted) {
                pausedUntilNs = nowNs + GROWTH_PAUSE_NS;
            }
            if (!added.isEmpty()) {
                growths++;
            }
            for (MemoryRegion region : added) {
                ArenaSegment segment = new ArenaSegment(region, nowNs);
                segments.put(region.segment().id(), segment);
                allocator.add(segment);
            }
            grown.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits while somebody grows; returns whether anybody did, so that it is worth to look again. */
    private boolean awaitGrowth(long deadlineNs) {
        lock.lock();
        try {
            if (growers == 0) {
                return false;
            }
            int before = growers;
            long growthsBefore = growths;
            while (growers >= before && growths == growthsBefore) {
                if (grown.awaitNanos(deadlineNs - System.nanoTime()) <= 0) {
                    return false;
                }
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    @GuardedBy("lock")
    private void takeOut(ArenaSegment segment) {
        allocator.remove(segment);
        segments.remove(segment.region.segment().id());
        committedBytes -= segment.region.segment().length();
    }

    private void giveBack(List<MemoryRegion> regions) {
        if (regions.isEmpty()) {
            return;
        }
        registrar.deregister(regions);
        regions.forEach(region -> backing.free(region.segment()));
        lock.lock();
        try {
            reservedBytes -= regions.size() * options.segmentBytes();
        } finally {
            lock.unlock();
        }
    }

    private LeakException findLeaks() {
        lock.lock();
        try {
            if (segments.isEmpty()) {
                return null;
            }
            List<String> sites = new ArrayList<>();
            for (ArenaSegment segment : segments.values()) {
                for (Extent extent = segment.first; extent != null; extent = extent.after) {
                    if (extent.holder != null) {
                        sites.add(extent.holder.site() + " (bytes=" + extent.length + ")");
                    }
                }
            }
            return new LeakException(leases, leasedBytes, sites);
        } finally {
            lock.unlock();
        }
    }
}
