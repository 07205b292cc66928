package io.verbena.shuffle.writer;

import java.util.concurrent.ConcurrentLinkedDeque;

/**
 * Staging buffers of ended tasks, warm for the next. Last in, first out: the one most likely still in the cache.
 *
 * <p>Ownership: {@link #acquire} makes the task the only user until {@link #release}. The pool never holds more buffers than
 * tasks once ran at the same time. Threads: any.
 */
public final class StagingPool {
    private final ConcurrentLinkedDeque<ScratchBuffer> idle = new ConcurrentLinkedDeque<>();
    private final int capacity;

    /** Creates an empty pool of buffers of {@code capacity} bytes. */
    public StagingPool(int capacity) {
        this.capacity = capacity;
    }

    int capacity() {
        return capacity;
    }

    ScratchBuffer acquire() {
        ScratchBuffer buffer = idle.pollFirst();
        return buffer == null ? new ScratchBuffer(capacity) : buffer;
    }

    /** Takes a buffer back; one that had to grow is left to the garbage collector. */
    void release(ScratchBuffer buffer) {
        if (buffer.capacity() == capacity) {
            idle.addFirst(buffer);
        }
    }
}
