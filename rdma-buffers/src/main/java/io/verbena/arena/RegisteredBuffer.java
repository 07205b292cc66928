package io.verbena.arena;

import io.verbena.registration.MemoryRegion;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A lease: the only way to hold registered memory.
 *
 * <pre>
 * FREE -> LEASED -> POSTED -> LEASED -> FREE     tryAcquire, markPosted, markCompleted, release
 *         LEASED -> RETIRED -> FREE              Arena.retire, then the quarantine
 * </pre>
 *
 * <p>Ownership: the holder is the only writer until it releases. A posted buffer belongs to the device until its completion is
 * polled; several posts may be outstanding. Views and addresses are dead after release.
 * <p>Threads: any, one at a time; transitions are atomic, so that a misuse by two threads is an error and not a double free.
 * <p>Errors: every call on a buffer that is not held any more is an IllegalStateException that names the allocation site.
 */
public final class RegisteredBuffer {
    private static final int LEASED = 0;
    private static final int FREE = -1;
    private static final int RETIRED = -2;

    private static final AtomicIntegerFieldUpdater<RegisteredBuffer> STATE =
            AtomicIntegerFieldUpdater.newUpdater(RegisteredBuffer.class, "state");

    private final Arena arena;
    private final Extent extent;
    private final String site;
    private volatile long capacity;

    /** One of the constants, or the number of outstanding posts if positive. */
    private volatile int state = LEASED;

    /** @param site who asked for it, for messages */
    RegisteredBuffer(Arena arena, Extent extent, long capacity, String site) {
        this.arena = arena;
        this.extent = extent;
        this.capacity = capacity;
        this.site = site;
    }

    /** Returns the absolute address of the first byte. */
    public long address() {
        return region().segment().address() + extent.offset;
    }

    /** Returns the bytes available: what was asked for. */
    public long capacity() {
        requireHeld("capacity");
        return capacity;
    }

    /** Returns the id of the one segment that holds all bytes. */
    public int segmentId() {
        return region().segment().id();
    }

    /** Returns where the first byte is in the segment, in bytes; a multiple of 64. */
    public long offset() {
        requireHeld("offset");
        return extent.offset;
    }

    /** Returns the registration that covers all bytes. */
    public MemoryRegion region() {
        requireHeld("use");
        return extent.segment.region;
    }

    /** Returns a fresh direct view of exactly this extent, native order; dead after release. */
    public ByteBuffer buffer() {
        return region().segment()
                .buffer()
                .slice((int) extent.offset, (int) capacity)
                .order(ByteOrder.nativeOrder());
    }

    /**
     * Gives the tail back at once; it may be leased to somebody else before this returns.
     *
     * @param newCapacity in bytes, at most the capacity
     * @throws IllegalStateException if posted or not held
     * @throws IllegalArgumentException if it would grow
     */
    public void shrink(long newCapacity) {
        if (state != LEASED) {
            throw misuse("shrink", state);
        }
        if (newCapacity < 0 || newCapacity > capacity) {
            throw new IllegalArgumentException(
                    "cannot shrink: newCapacity=" + newCapacity + ", capacity=" + capacity + ", allocated by " + site);
        }
        capacity = newCapacity;
        arena.shrink(extent, ExtentAllocator.held(newCapacity));
    }

    /** Hands the bytes to the device or transport, once more. */
    public void markPosted() {
        while (true) {
            int now = state;
            if (now < LEASED) {
                throw misuse("post", now);
            }
            if (STATE.compareAndSet(this, now, now + 1)) {
                return;
            }
        }
    }

    /** Takes the bytes back after a completion. */
    public void markCompleted() {
        while (true) {
            int now = state;
            if (now <= LEASED) {
                throw misuse("complete", now);
            }
            if (STATE.compareAndSet(this, now, now - 1)) {
                return;
            }
        }
    }

    /** Ends the lease. */
    public void release() {
        if (!STATE.compareAndSet(this, LEASED, FREE)) {
            throw misuse("release", state);
        }
        arena.free(extent);
    }

    /** LEASED -> RETIRED. */
    void markRetired(Arena by) {
        if (by != arena) {
            throw new IllegalArgumentException("buffer is another arena's, allocated by " + site);
        }
        if (!STATE.compareAndSet(this, LEASED, RETIRED)) {
            throw misuse("retire", state);
        }
    }

    /** RETIRED -> FREE; the arena frees the extent. */
    void markReclaimed() {
        STATE.set(this, FREE);
    }

    Extent extent() {
        return extent;
    }

    String site() {
        return site;
    }

    private void requireHeld(String operation) {
        int now = state;
        if (now < LEASED) {
            throw misuse(operation, now);
        }
    }

    private IllegalStateException misuse(String operation, int now) {
        String name =
                switch (now) {
                    case FREE -> "FREE";
                    case RETIRED -> "RETIRED";
                    case LEASED -> "LEASED";
                    default -> "POSTED (posts=" + now + ")";
                };
        return new IllegalStateException("cannot " + operation + " a buffer that is " + name + ": segmentId="
                + extent.segment.region.segment().id() + ", offset=" + extent.offset + ", capacity=" + capacity
                + ", allocated by " + site);
    }

    @Override
    public String toString() {
        return "buffer segmentId=" + extent.segment.region.segment().id() + ", offset=" + extent.offset + ", capacity="
                + capacity + ", state=" + state + ", allocated by " + site;
    }
}
