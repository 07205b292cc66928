package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connected queue pair, in one of two roles: {@link ReaderLink} posts reads, {@link ServingLink} answers messages.
 *
 * <pre>
 * CONNECTING -> OPEN -> BROKEN -> ENDED
 *          \------------^            break_: any thread; end: the QP is destroyed (CM thread), then what was in flight is
 *                                    handed back (progress thread)
 * </pre>
 *
 * <p>Whatever goes wrong leads to BROKEN: no status code is trusted to leave a connection usable. Memory that was posted is given
 * back only after the QP is destroyed, when no device writes to it any more.
 *
 * <p>Threads: posts under the link's lock by any thread; connection management on the CM thread; completions and
 * {@link #tick} on the device's progress thread.
 */
abstract class Link implements CmHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Link.class);

    /** No deadline; one nanosecond of the clock's range is given up for it. */
    static final long NEVER = Long.MIN_VALUE;

    enum State {
        CONNECTING,
        OPEN,
        BROKEN,
        ENDED
    }

    private final Device device;
    private final CmLoop cm;
    private final int number;
    private final long id;
    private final int cqEntries;
    private final ControlBlock control;
    private final long bornNs = System.nanoTime();
    final SendRing ring;

    @GuardedBy("this")
    private long qp;

    @GuardedBy("this")
    private long cq;

    @GuardedBy("this")
    private State state = State.CONNECTING;

    @GuardedBy("this")
    private TransportException cause;

    private volatile boolean open;

    /**
     * Takes over the CM id, even if this throws; the QP is made by {@link #createQp}.
     *
     * @param sends work requests in flight at most, messages included
     */
    Link(Device device, CmLoop cm, int number, long id, int sends, ControlBlock control) {
        this.device = device;
        this.cm = cm;
        this.number = number;
        this.id = id;
        this.control = control;
        this.cqEntries = sends + ControlBlock.RECEIVES;
        this.ring = new SendRing(number, sends);
    }

    int number() {
        return number;
    }

    Device device() {
        return device;
    }

    boolean isOpen() {
        return open;
    }

    @GuardedBy("this")
    final State state() {
        return state;
    }

    @GuardedBy("this")
    final TransportException cause() {
        return cause;
    }

    @GuardedBy("this")
    final ControlBlock control() {
        return control;
    }

    /** CM thread: makes the QP and posts all receives, before anything can arrive. */
    final void createQp() throws IOException {
        long reserved = device.completionQueues().reserve(cqEntries);
        synchronized (this) {
            cq = reserved;
            int[] actual = new int[5];
            int sends = cqEntries - ControlBlock.RECEIVES;
            qp = VerbsNative.createQp(id, device.pdHandle(), cq, cq, sends, ControlBlock.RECEIVES, 1, 1, 0, actual);
            for (int slot = 0; slot < ControlBlock.RECEIVES; slot++) {
                if (!control.postReceive(qp, number, slot)) {
                    throw new IOException("a receive was refused: errno=" + VerbsNative.lastPostError());
                }
            }
        }
    }

    /** CM thread: the connection is established. */
    final void opened() {
        synchronized (this) {
            if (state != State.CONNECTING) {
                return;
            }
            state = State.OPEN;
            open = true;
        }
        device.counters().openConnections.increment();
        device.progress().wake();
    }

    /** Posts the ring's chain; a refusal breaks the connection, because nobody knows what was posted. */
    @GuardedBy("this")
    final void postChain() {
        int count = ring.chainLength();
        if (count == 0) {
            return;
        }
        device.counters().doorbells.increment();
        int posted = VerbsNative.postSend(qp, ring.seal(), count);
        if (posted != count) {
            breakOff(new TransportException(
                    Reason.PEER_GONE,
                    "work requests were refused: posted=" + posted + " of " + count + ", errno="
                            + VerbsNative.lastPostError() + "; " + this));
        }
    }

    @GuardedBy("this")
    final void postMessage(int type, int key, long sequence) {
        control.addSend(ring, type, key, sequence);
        postChain();
    }

    /** Any thread: gives the connection up. Only the first cause counts. */
    final synchronized void breakOff(TransportException why) {
        if (state == State.BROKEN || state == State.ENDED) {
            return;
        }
        boolean wasOpen = state == State.OPEN;
        state = State.BROKEN;
        open = false;
        cause = why;
        if (wasOpen) {
            device.counters().openConnections.decrement();
            if (why.reason() != Reason.CLOSED) {
                device.counters().connectionFailures.increment();
            }
        }
        cm.execute(this::end);
    }

    /** CM thread: after this no device touches the memory. */
    private void end() {
        cm.forget(id);
        long dead;
        synchronized (this) {
            dead = qp;
            qp = 0;
        }
        if (dead != 0) {
            try {
                VerbsNative.disconnect(id);
            } catch (IOException e) {
                LOG.debug("not connected any more: {}: {}", this, e.toString());
            }
            int errno = VerbsNative.destroyQp(id);
            if (errno != 0 && device.isUsable()) {
                // It may still read and write: nothing of it is given back.
                LOG.error("a queue pair cannot be destroyed, its memory and leases stay: errno={}; {}", errno, this);
                return;
            }
        }
        try {
            VerbsNative.destroyId(id);
        } catch (IOException e) {
            LOG.warn("a connection id stays: {}: {}", this, e.toString());
        }
        device.progress().execute(this::handBack);
    }

    /** Progress thread. */
    private void handBack() {
        device.progress().drain();
        long used;
        TransportException why;
        synchronized (this) {
            state = State.ENDED;
            used = cq;
            why = cause;
        }
        if (used != 0) {
            device.completionQueues().release(used, cqEntries);
        }
        device.controlSlab().giveBack(control);
        ended(why);
        ring.close();
        // Last: whoever waits for the links to end finds everything given back.
        device.links().remove(this);
    }

    /** Progress thread: hands back everything in flight; the QP is gone. */
    abstract void ended(TransportException why);

    /** Progress thread: a send or read completed. */
    abstract void sent(long sequence, int status, int vendorError);

    /** Progress thread: a message arrived. */
    @GuardedBy("this")
    abstract void received(int type, int key, long sequence);

    /** Progress thread: from time to time. */
    abstract void tick(long nowNs);

    /** Returns no later than the earliest deadline of a request, or {@link #NEVER}. */
    abstract long nextDeadlineNs();

    /** Progress thread: a receive completed. */
    final void receiveCompleted(int slot, int status, int bytes) {
        synchronized (this) {
            if (state == State.BROKEN || state == State.ENDED) {
                return;
            }
            if (status != 0 || bytes != ControlBlock.MESSAGE_BYTES || slot >= ControlBlock.RECEIVES) {
                breakOff(new TransportException(
                        Reason.PEER_GONE,
                        "a receive failed: status=" + WcStatus.name(status) + ", bytes=" + bytes + "; " + this));
                return;
            }
            int type = control.receivedType(slot);
            int key = control.receivedKey(slot);
            long sequence = control.receivedNumber(slot);
            if (!control.postReceive(qp, number, slot)) {
                breakOff(new TransportException(
                        Reason.PEER_GONE, "a receive was refused: errno=" + VerbsNative.lastPostError() + "; " + this));
                return;
            }
            received(type, key, sequence);
        }
    }

    /** CM thread. */
    @Override
    public void onEvent(CmEvent event) {
        switch (event.type()) {
            case CmEvent.DISCONNECTED ->
                breakOff(new TransportException(Reason.PEER_GONE, "the peer ended the connection; " + this));
            case CmEvent.DEVICE_REMOVAL ->
                breakOff(new TransportException(Reason.PEER_GONE, "the device was removed; " + this));
            case CmEvent.TIMEWAIT_EXIT, CmEvent.ADDRESS_CHANGE -> LOG.debug("ignored: {}; {}", event, this);
            default ->
                breakOff(new TransportException(
                        Reason.PEER_GONE, "unexpected connection event: " + event + "; " + this));
        }
    }

    final boolean isOlderThan(long nowNs, long ageNs) {
        return nowNs - bornNs > ageNs;
    }

    final synchronized boolean usesQueue(long handle) {
        return cq == handle;
    }

    final synchronized boolean isQp(long handle) {
        return qp != 0 && qp == handle;
    }
}
