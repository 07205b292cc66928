package io.verbena.transport.verbs.engine;

import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;
import java.util.List;

/**
 * The send queue of one connection: memory for its work requests, and the table of what is in flight.
 *
 * <p>A reliable connection completes in order, so one signalled completion ends all before it. What the device may do is not
 * trusted: a completion that is not in flight is a stray and changes nothing, one that is missing is found by the requests'
 * deadlines, and more than {@code capacity} work requests are never posted, whatever the device would take.
 *
 * <p>Threads: guarded by the connection's lock. Ownership: frees its memory in {@link #close}, after the QP is destroyed.
 */
final class SendRing implements AutoCloseable {
    /**
     * After as many bytes a read is signalled even in the middle of a chain, so that a chain as long as the bound of bytes in flight
     * is replaced piece by piece and not when all of it is done. Over Soft-RoCE 64 KiB and 1 MiB are equally fast.
     */
    static final int SIGNAL_BYTES = 256 << 10;

    private static final int SLOT_BYTES = VerbsNative.SEND_WR_BYTES + VerbsNative.SGE_BYTES;

    private final int connection;
    private final int capacity;
    private final int mask;
    private final long memory;
    private final ReadState[] owners;
    private final int[] lengths;
    private long head;
    private long tail;
    private long chainStart;
    private long bytesInFlight;
    private long unsignalledBytes;

    /** @param capacity work requests in flight at most */
    SendRing(int connection, int capacity) {
        this.connection = connection;
        this.capacity = capacity;
        int slots = Integer.highestOneBit(Math.max(2, capacity) * 2 - 1);
        mask = slots - 1;
        memory = OffHeap.allocate((long) slots * SLOT_BYTES);
        OffHeap.zero(memory, (long) slots * SLOT_BYTES);
        owners = new ReadState[slots];
        lengths = new int[slots];
    }

    /** Returns how many work requests may be added. */
    int free() {
        return capacity - (int) (head - tail);
    }

    int inFlight() {
        return (int) (head - tail);
    }

    long bytesInFlight() {
        return bytesInFlight;
    }

    int chainLength() {
        return (int) (head - chainStart);
    }

    void addRead(ReadState owner, long remoteAddress, int rkey, long localAddress, int length, int lkey) {
        long wr = claim(owner, length);
        long sge = wr + VerbsNative.SEND_WR_BYTES;
        WorkRequests.sge(sge, localAddress, length, lkey);
        WorkRequests.read(wr, WorkId.send(connection, head), sge, remoteAddress, rkey);
        bytesInFlight += length;
        unsignalledBytes += length;
        if (unsignalledBytes >= SIGNAL_BYTES) {
            signal(wr);
        }
        append(wr);
    }

    void addSend(long localAddress, int length, int lkey) {
        long wr = claim(null, 0);
        long sge = wr + VerbsNative.SEND_WR_BYTES;
        WorkRequests.sge(sge, localAddress, length, lkey);
        WorkRequests.send(wr, WorkId.send(connection, head), sge);
        append(wr);
    }

    private long claim(ReadState owner, int length) {
        if (free() <= 0) {
            throw new IllegalStateException("send queue is full: capacity=" + capacity + ", head=" + head);
        }
        int slot = (int) head & mask;
        owners[slot] = owner;
        lengths[slot] = length;
        return wr(head);
    }

    private void signal(long wr) {
        WorkRequests.signal(wr);
        unsignalledBytes = 0;
    }

    private void append(long wr) {
        if (head > chainStart) {
            WorkRequests.link(wr(head - 1), wr);
        }
        head++;
    }

    private long wr(long sequence) {
        return memory + (sequence & mask) * SLOT_BYTES;
    }

    /** Ends the chain: its last work request is signalled. Returns the address of the first; the next chain begins. */
    long seal() {
        signal(wr(head - 1));
        long first = wr(chainStart);
        chainStart = head;
        return first;
    }

    /** Returns whether the completion with this sequence (its low 40 bits) is of something in flight. */
    boolean isInFlight(long sequence) {
        return distance(sequence) < head - tail;
    }

    private long distance(long sequence) {
        return WorkId.sequence(sequence - tail);
    }

    /** Returns whose piece it is, null for a message. */
    ReadState owner(long sequence) {
        return owners[(int) sequence & mask];
    }

    /**
     * Ends everything up to and including {@code sequence}, which is in flight.
     *
     * @param finished receives the requests that are complete now
     * @return bytes read
     */
    long complete(long sequence, List<ReadState> finished) {
        long count = distance(sequence) + 1;
        long before = bytesInFlight;
        for (long i = 0; i < count; i++) {
            int slot = (int) tail & mask;
            ReadState owner = owners[slot];
            owners[slot] = null;
            bytesInFlight -= lengths[slot];
            tail++;
            if (owner != null && owner.completeOne()) {
                finished.add(owner);
            }
        }
        return before - bytesInFlight;
    }

    @Override
    public void close() {
        OffHeap.free(memory);
    }
}
