package io.verbena.transport.verbs.engine;

import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.TransportException;

/**
 * How far a read request has come. Reused, so that a read makes no garbage.
 *
 * <p>Guarded by the connection's lock until it is finished; then by the progress thread.
 */
final class ReadState {
    private ReadRequest request;
    private RemoteTable table;
    private long destination;
    private int lkey;
    private int range;
    private long done;
    private int outstanding;
    private TransportException failure;

    /** Where it is among the connection's requests in flight, -1 if it has nothing posted. */
    int position = -1;

    void begin(ReadRequest next, RemoteTable segments, int destinationLkey) {
        request = next;
        table = segments;
        destination = next.destination().address();
        lkey = destinationLkey;
        range = 0;
        done = 0;
        outstanding = 0;
        failure = null;
        position = -1;
        skipEmpty();
    }

    void clear() {
        request = null;
        table = null;
        failure = null;
    }

    ReadRequest request() {
        return request;
    }

    long deadlineNs() {
        return request.deadlineNs();
    }

    /** Returns the length of the next piece, at most {@code max}; 0 when all is posted. */
    int nextLength(int max) {
        return isAllPosted()
                ? 0
                : (int) Math.min(max, request.ranges().get(range).length() - done);
    }

    /** Adds the next piece to the ring. */
    void post(SendRing ring, int length) {
        Range now = request.ranges().get(range);
        ring.addRead(
                this,
                now.remoteAddress() + done,
                table.deviceKey(now.rkey()),
                destination + now.destinationOffset() + done,
                length,
                lkey);
        outstanding++;
        done += length;
        if (done == now.length()) {
            range++;
            done = 0;
            skipEmpty();
        }
    }

    private void skipEmpty() {
        while (range < request.ranges().size() && request.ranges().get(range).length() == 0) {
            range++;
        }
    }

    boolean isAllPosted() {
        return range == request.ranges().size();
    }

    /** Counts one piece as done; returns true when it was the last of all. */
    boolean completeOne() {
        outstanding--;
        return outstanding == 0 && isAllPosted();
    }

    /** Keeps the first failure. */
    void failWith(TransportException cause) {
        if (failure == null) {
            failure = cause;
        }
    }

    TransportException failure() {
        return failure;
    }
}
