package io.verbena.transport.verbs.engine;

import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;

/** Writes {@code ibv_send_wr}, {@code ibv_recv_wr} and {@code ibv_sge}; the first four fields of both requests are the same. */
final class WorkRequests {
    private static final int IBV_WR_SEND = 2;
    private static final int IBV_WR_RDMA_READ = 4;
    private static final int IBV_SEND_SIGNALED = 2;

    private WorkRequests() {}

    static void sge(long sge, long address, int length, int lkey) {
        OffHeap.putLong(sge, address);
        OffHeap.putInt(sge + VerbsNative.SGE_LENGTH, length);
        OffHeap.putInt(sge + VerbsNative.SGE_LKEY, lkey);
    }

    /** Writes an unsignalled last work request; {@link #link} and {@link #signal} change that. */
    static void read(long wr, long wrId, long sge, long remoteAddress, int rkey) {
        common(wr, wrId, sge);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_OPCODE, IBV_WR_RDMA_READ);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_FLAGS, 0);
        OffHeap.putLong(wr + VerbsNative.SEND_WR_REMOTE_ADDRESS, remoteAddress);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_RKEY, rkey);
    }

    /** Writes a signalled last work request. */
    static void send(long wr, long wrId, long sge) {
        common(wr, wrId, sge);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_OPCODE, IBV_WR_SEND);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_FLAGS, IBV_SEND_SIGNALED);
    }

    static void receive(long wr, long wrId, long sge) {
        common(wr, wrId, sge);
    }

    private static void common(long wr, long wrId, long sge) {
        OffHeap.putLong(wr, wrId);
        OffHeap.putLong(wr + VerbsNative.SEND_WR_NEXT, 0);
        OffHeap.putLong(wr + VerbsNative.SEND_WR_SG_LIST, sge);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_NUM_SGE, 1);
    }

    static void link(long wr, long next) {
        OffHeap.putLong(wr + VerbsNative.SEND_WR_NEXT, next);
    }

    static void signal(long wr) {
        OffHeap.putInt(wr + VerbsNative.SEND_WR_FLAGS, IBV_SEND_SIGNALED);
    }
}
