package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.transport.verbs.VerbsOptions;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The reader's end of a connection: it queues requests, posts as many pieces as its bounds allow in chains of one doorbell each,
 * and hands finished requests back.
 *
 * <p>Bounds: {@code queueDepth} work requests and {@code maxBytesInFlight} bytes; what does not fit waits here, in order. How many
 * of the posted reads are on the wire is the device's business, within the depth that both sides agreed on.
 */
final class ReaderLink extends Link {
    /** Work requests of one doorbell at most. */
    private static final int CHAIN = 64;

    private final InetSocketAddress remote;
    private final int maxReadBytes;
    private final int queueDepth;
    private final long maxBytesInFlight;
    private final Leases leases;

    @GuardedBy("this")
    private final Deque<ReadState> queued = new ArrayDeque<>();

    /** Requests with something posted, in no order. */
    @GuardedBy("this")
    private final List<ReadState> posted = new ArrayList<>();

    @GuardedBy("this")
    private final Deque<ReadState> spare = new ArrayDeque<>();

    /** No request's deadline is earlier; may be too early. Written under the lock. */
    private volatile long earliestDeadlineNs = NEVER;

    /** Progress thread only: whether {@link #post} will be called. */
    private boolean deferred;

    /** Progress thread only. */
    private final List<ReadState> finished = new ArrayList<>();

    ReaderLink(
            Device device,
            CmLoop cm,
            int number,
            long id,
            ControlBlock control,
            VerbsOptions options,
            InetSocketAddress remote) {
        super(device, cm, number, id, depth(device, options) + ControlBlock.SENDS, control);
        this.remote = remote;
        this.queueDepth = depth(device, options);
        this.maxReadBytes = (int) Math.min(options.maxReadBytes(), device.maxMessageBytes());
        this.maxBytesInFlight = options.maxBytesInFlight();
        this.leases = new Leases(this);
    }

    private static int depth(Device device, VerbsOptions options) {
        return (int) Math.min(options.queueDepth(), device.maxWorkRequests() - ControlBlock.SENDS);
    }

    Leases leases() {
        return leases;
    }

    /** Begins a request whose destination is marked as posted; its listener is called on the progress thread. */
    void read(ReadRequest request, RemoteTable table, int lkey) {
        TransportException refused;
        synchronized (this) {
            refused = refusal(request, table);
            if (refused == null) {
                ReadState read = spare.isEmpty() ? new ReadState() : spare.pop();
                read.begin(request, table, lkey);
                if (read.isAllPosted()) {
                    // Nothing to read: finished on the progress thread all the same.
                    device().progress().execute(() -> finish(read, null));
                    return;
                }
                queued.add(read);
                noteDeadline(read);
                postOrDefer();
            }
        }
        if (refused != null) {
            device().progress().fail(request, refused);
        } else {
            // The thread must look at deadlines again, should it sleep.
            device().progress().wakeForDeadline(request.deadlineNs());
        }
    }

    @GuardedBy("this")
    private TransportException refusal(ReadRequest request, RemoteTable table) {
        if (state() != State.OPEN) {
            TransportException why = cause();
            return new TransportException(
                    why == null ? Reason.PEER_GONE : why.reason(),
                    "read refused, the connection is lost: " + (why == null ? this : why.getMessage()),
                    why);
        }
        long lateNs = System.nanoTime() - request.deadlineNs();
        if (lateNs > 0) {
            return new TransportException(Reason.TIMEOUT, "read missed its deadline before it began: lateNs=" + lateNs);
        }
        List<Range> ranges = request.ranges();
        for (int i = 0; i < ranges.size(); i++) {
            Range range = ranges.get(i);
            if (!table.covers(range)) {
                return new TransportException(
                        Reason.REMOTE_ACCESS,
                        "range refused: rkey=0x" + Integer.toHexString(range.rkey()) + ", remoteAddress=0x"
                                + Long.toHexString(range.remoteAddress()) + ", length=" + range.length()
                                + ", segment=" + table.segment(range.rkey()));
            }
        }
        return null;
    }

    /**
     * Posts now, or, on the progress thread while it takes completions, when it has taken them all: what the listeners of a few
     * finished requests ask for goes out in one chain.
     */
    @GuardedBy("this")
    private void postOrDefer() {
        if (!device().progress().isTakingCompletions()) {
            pump();
        } else if (!deferred) {
            deferred = true;
            device().progress().postLater(this);
        }
    }

    /** Progress thread: posts what was deferred. */
    synchronized void post() {
        deferred = false;
        pump();
    }

    /** Posts as much as the bounds allow. */
    @GuardedBy("this")
    private void pump() {
        while (!queued.isEmpty() && state() == State.OPEN) {
            while (ring.chainLength() < CHAIN && addPiece()) {
                // One work request each.
            }
            int count = ring.chainLength();
            if (count == 0) {
                return;
            }
            device().counters().readWorkRequests.add(count);
            postChain();
        }
    }

    @GuardedBy("this")
    private boolean addPiece() {
        ReadState next = queued.peek();
        if (next == null || ring.inFlight() >= queueDepth) {
            return false;
        }
        int length = next.nextLength(maxReadBytes);
        if (ring.bytesInFlight() > 0 && ring.bytesInFlight() + length > maxBytesInFlight) {
            return false;
        }
        if (next.position < 0) {
            next.position = posted.size();
            posted.add(next);
        }
        next.post(ring, length);
        if (next.isAllPosted()) {
            queued.remove();
        }
        return true;
    }

    @Override
    void sent(long sequence, int status, int vendorError) {
        synchronized (this) {
            if (state() == State.BROKEN || state() == State.ENDED) {
                noteCulprit(sequence, status);
                return;
            }
            if (!ring.isInFlight(sequence)) {
                device().counters().strayCompletions.increment();
                return;
            }
            if (status != 0) {
                noteCulprit(sequence, status);
                breakOff(new TransportException(
                        Reason.PEER_GONE,
                        "a read failed: status=" + WcStatus.name(status) + ", vendorError=0x"
                                + Integer.toHexString(vendorError) + "; " + this));
                return;
            }
            device().counters().readBytes.add(ring.complete(sequence, finished));
            for (int i = 0; i < finished.size(); i++) {
                unlist(finished.get(i));
            }
            leases.pumpMessages();
            postOrDefer();
        }
        for (int i = 0; i < finished.size(); i++) {
            finish(finished.get(i), null);
        }
        finished.clear();
    }

    /** The request that the peer's device refused is told so; the others only lose their connection. */
    @GuardedBy("this")
    private void noteCulprit(long sequence, int status) {
        if ((status == WcStatus.REMOTE_ACCESS || status == WcStatus.REMOTE_INVALID_REQUEST)
                && ring.isInFlight(sequence)
                && ring.owner(sequence) != null) {
            ring.owner(sequence)
                    .failWith(new TransportException(
                            Reason.REMOTE_ACCESS,
                            "the peer's device refused the read: status=" + WcStatus.name(status) + "; " + this));
        }
    }

    @GuardedBy("this")
    private void unlist(ReadState read) {
        int last = posted.size() - 1;
        ReadState moved = posted.remove(last);
        if (moved != read) {
            posted.set(read.position, moved);
            moved.position = read.position;
        }
        read.position = -1;
    }

    /** Progress thread, without the lock: the listener may do what it likes. */
    private void finish(ReadState read, TransportException failure) {
        ReadRequest request = read.request();
        read.clear();
        synchronized (this) {
            spare.push(read);
        }
        Listeners.finish(request, failure);
    }

    @Override
    @GuardedBy("this")
    void received(int type, int key, long sequence) {
        if (type != Message.DONE) {
            breakOff(new TransportException(
                    Reason.PEER_GONE, "the owner sent an unknown message: type=" + type + "; " + this));
        } else {
            leases.answered(key, sequence);
        }
    }

    @Override
    void tick(long nowNs) {
        List<ReadState> late = new ArrayList<>();
        synchronized (this) {
            queued.removeIf(read -> {
                boolean isLate = read.position < 0 && nowNs - read.deadlineNs() > 0;
                if (isLate) {
                    late.add(read);
                }
                return isLate;
            });
            earliestDeadlineNs = NEVER;
            for (ReadState read : queued) {
                noteDeadline(read);
            }
            for (ReadState read : posted) {
                noteDeadline(read);
                if (nowNs - read.deadlineNs() > 0) {
                    read.failWith(timeout(read));
                    breakOff(new TransportException(
                            Reason.PEER_GONE, "a read got no answer within its deadline; " + this));
                }
            }
            leases.tick(nowNs);
        }
        for (ReadState read : late) {
            finish(read, timeout(read));
        }
    }

    @GuardedBy("this")
    private void noteDeadline(ReadState read) {
        if (earliestDeadlineNs == NEVER || read.deadlineNs() - earliestDeadlineNs < 0) {
            earliestDeadlineNs = read.deadlineNs();
        }
    }

    private TransportException timeout(ReadState read) {
        return new TransportException(
                Reason.TIMEOUT,
                "read missed its deadline: ranges=" + read.request().ranges().size() + "; " + this);
    }

    @Override
    long nextDeadlineNs() {
        return earliestDeadlineNs;
    }

    /** Fails what has not been posted. */
    void failQueued(TransportException why) {
        List<ReadState> failed = new ArrayList<>();
        synchronized (this) {
            queued.removeIf(read -> {
                boolean remove = read.position < 0;
                if (remove) {
                    failed.add(read);
                }
                return remove;
            });
        }
        if (!failed.isEmpty()) {
            device().progress().execute(() -> failed.forEach(read -> finish(read, why)));
        }
    }

    @Override
    void ended(TransportException why) {
        List<ReadState> all = new ArrayList<>();
        synchronized (this) {
            all.addAll(posted);
            for (ReadState read : queued) {
                if (read.position < 0) {
                    all.add(read);
                }
            }
            posted.clear();
            queued.clear();
            leases.ended(why);
        }
        for (ReadState read : all) {
            finish(read, read.failure() == null ? why : read.failure());
        }
    }

    /** Posts a message of the leases. */
    @GuardedBy("this")
    boolean trySend(int type, int key, long sequence) {
        if (state() != State.OPEN || ring.free() == 0) {
            return false;
        }
        postMessage(type, key, sequence);
        return true;
    }

    @GuardedBy("this")
    TransportException brokenBy() {
        return state() == State.OPEN ? null : cause();
    }

    @Override
    public String toString() {
        return "connection " + number() + " to " + remote.getAddress().getHostAddress() + ":" + remote.getPort()
                + " on " + device().name();
    }
}
