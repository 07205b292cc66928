package io.verbena.transport.verbs.engine;

import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;

/**
 * One connection's registered memory for messages: {@link #RECEIVES} places to receive, {@link #SENDS} to send, and the work
 * requests to post the former.
 *
 * <pre>
 * message: type u32 | key i32 | number u64        native byte order: peers of another one are refused by the hello
 * </pre>
 *
 * <p>Ownership: a piece of a {@link ControlSlab}, given back when the QP is destroyed. Threads: guarded by the connection's lock.
 */
final class ControlBlock {
    static final int MESSAGE_BYTES = 16;
    static final int RECEIVES = 16;
    static final int SENDS = 32;
    static final int REGISTERED_BYTES = (RECEIVES + SENDS) * MESSAGE_BYTES;

    private static final int RECEIVE_SLOT = VerbsNative.RECV_WR_BYTES + VerbsNative.SGE_BYTES;

    /** Bytes of a whole block; the work requests lie behind the messages. */
    static final int BYTES = REGISTERED_BYTES + RECEIVES * RECEIVE_SLOT;

    private final long address;
    private final int lkey;
    private int nextSend;

    ControlBlock(long address, int lkey) {
        this.address = address;
        this.lkey = lkey;
    }

    long address() {
        return address;
    }

    /** Posts a place to receive; returns whether the device took it. */
    boolean postReceive(long qp, int connection, int slot) {
        long wr = address + REGISTERED_BYTES + (long) slot * RECEIVE_SLOT;
        long sge = wr + VerbsNative.RECV_WR_BYTES;
        WorkRequests.sge(sge, receiveAddress(slot), MESSAGE_BYTES, lkey);
        WorkRequests.receive(wr, WorkId.receive(connection, slot), sge);
        return VerbsNative.postRecv(qp, wr, 1) == 1;
    }

    private long receiveAddress(int slot) {
        return address + (long) slot * MESSAGE_BYTES;
    }

    int receivedType(int slot) {
        return OffHeap.getInt(receiveAddress(slot));
    }

    int receivedKey(int slot) {
        return OffHeap.getInt(receiveAddress(slot) + 4);
    }

    long receivedNumber(int slot) {
        return OffHeap.getLong(receiveAddress(slot) + 8);
    }

    /** Adds a message to the ring's chain. At most {@link #SENDS} may be in flight. */
    void addSend(SendRing ring, int type, int key, long number) {
        long message = address + (long) (RECEIVES + nextSend) * MESSAGE_BYTES;
        nextSend = (nextSend + 1) % SENDS;
        OffHeap.putInt(message, type);
        OffHeap.putInt(message + 4, key);
        OffHeap.putLong(message + 8, number);
        ring.addSend(message, MESSAGE_BYTES, lkey);
    }
}
