package io.verbena.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Anonymous memory of this process: works everywhere, cannot be shared. Threads: any; guarded by this. */
final class PlainBacking implements SegmentBacking {
    /** Largest base page of the platforms we run on is 64 KiB (arm64); 4 KiB alignment serves the others as well. */
    private static final long ALIGNMENT = 64 << 10;

    @GuardedBy("this")
    private final Map<Integer, Segment> live = new HashMap<>();

    @Override
    public String name() {
        return "plain";
    }

    @Override
    public Segment allocate(int id, long bytes) throws BackingException {
        FileBacking.checkSize(bytes, 4096);
        long block;
        try {
            block = OffHeap.allocate(bytes + ALIGNMENT);
        } catch (OutOfMemoryError e) {
            throw new BackingException(
                    "cannot allocate plain memory: segmentBytes=" + bytes
                            + "; raise the memory limit of the process (ulimit -v, the container's memory overhead) or lower"
                            + " spark.shuffle.rdma.memory.size",
                    e);
        }
        long address = (block + ALIGNMENT - 1) & -ALIGNMENT;
        OffHeap.zero(address, bytes);
        Segment segment = new Segment(id, OffHeap.wrap(address, (int) bytes), null, this, block);
        synchronized (this) {
            live.put(id, segment);
        }
        return segment;
    }

    @Override
    public synchronized void free(Segment segment) {
        if (!live.remove(segment.id(), segment)) {
            throw new IllegalStateException("cannot free: not allocated here or freed before; " + segment);
        }
        OffHeap.free(segment.allocation());
    }

    @Override
    public Path ownerDirectory() {
        return null;
    }

    @Override
    public synchronized void close() {
        for (Segment segment : List.copyOf(live.values())) {
            free(segment);
        }
    }
}
