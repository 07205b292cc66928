package io.verbena.shuffle.writer;

import io.verbena.memory.OffHeap;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Direct memory that grows on demand. The JVM counts and frees it (limit: -XX:MaxDirectMemorySize, by default the heap's size).
 *
 * <p>Threads: confined to the task that holds it.
 */
final class ScratchBuffer {
    private ByteBuffer bytes;
    private long address;

    ScratchBuffer(int capacity) {
        allocate(capacity);
    }

    private void allocate(int capacity) {
        bytes = ByteBuffer.allocateDirect(capacity).order(ByteOrder.nativeOrder());
        address = OffHeap.addressOf(bytes);
    }

    long address() {
        return address;
    }

    int capacity() {
        return bytes.capacity();
    }

    /** A view of the first {@code length} bytes. */
    ByteBuffer view(long length) {
        return bytes.slice(0, Math.toIntExact(length)).order(ByteOrder.nativeOrder());
    }

    /** A view of a range. */
    ByteBuffer view(long offset, long length) {
        return bytes.slice(Math.toIntExact(offset), Math.toIntExact(length));
    }

    /**
     * Makes room for {@code needed} bytes, keeping the first {@code keep}.
     *
     * @throws IllegalArgumentException if a single record or run is beyond what one buffer can hold (2 GiB)
     */
    void reserve(long needed, long keep) {
        if (needed <= capacity()) {
            return;
        }
        if (needed > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "record is too large for the shuffle: neededBytes=" + needed + ", atMost=" + Integer.MAX_VALUE
                            + "; split the record, or use Spark's own shuffle with spark.shuffle.rdma.enabled=false");
        }
        long old = address;
        ByteBuffer held = bytes;
        allocate((int) Math.min(Integer.MAX_VALUE, Math.max(needed, 2L * capacity())));
        try {
            OffHeap.copy(null, old, null, address, keep);
        } finally {
            Reference.reachabilityFence(held);
        }
    }
}
