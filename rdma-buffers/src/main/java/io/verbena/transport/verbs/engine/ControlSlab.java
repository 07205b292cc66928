package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import io.verbena.memory.OffHeap;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Registered memory of one device for messages, in chunks that hold {@link #BLOCKS} connections, so that connecting registers
 * nothing most of the time. Chunks stay until {@link #close}.
 *
 * <p>Threads: any; guarded by this.
 */
final class ControlSlab implements AutoCloseable {
    private static final int BLOCKS = 128;

    private record Chunk(long memory, IbvMr mr) {}

    private final IbvPd pd;

    @GuardedBy("this")
    private final List<Chunk> chunks = new ArrayList<>();

    @GuardedBy("this")
    private final Deque<ControlBlock> free = new ArrayDeque<>();

    ControlSlab(IbvPd pd) {
        this.pd = pd;
    }

    synchronized ControlBlock take() throws IOException {
        if (free.isEmpty()) {
            grow();
        }
        return free.pop();
    }

    @GuardedBy("this")
    private void grow() throws IOException {
        int bytes = BLOCKS * ControlBlock.BYTES;
        long memory = OffHeap.allocate(bytes);
        boolean registered = false;
        try {
            OffHeap.zero(memory, bytes);
            IbvMr mr = Registrations.register(pd, memory, bytes, IbvMr.IBV_ACCESS_LOCAL_WRITE);
            registered = true;
            chunks.add(new Chunk(memory, mr));
            for (int i = 0; i < BLOCKS; i++) {
                free.add(new ControlBlock(memory + (long) i * ControlBlock.BYTES, mr.getLkey()));
            }
        } finally {
            if (!registered) {
                OffHeap.free(memory);
            }
        }
    }

    synchronized void giveBack(ControlBlock block) {
        free.add(block);
    }

    /** Deregisters and frees; every QP is destroyed. */
    @Override
    public synchronized void close() {
        for (Chunk chunk : chunks) {
            if (Registrations.deregister(chunk.mr())) {
                OffHeap.free(chunk.memory());
            }
        }
        chunks.clear();
        free.clear();
    }
}
