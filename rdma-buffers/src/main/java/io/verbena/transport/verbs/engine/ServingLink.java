package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.transport.LeaseCounts;
import io.verbena.transport.ReadLease;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The owner's end of a connection: it keeps the reader's leases and costs no CPU while the reader reads.
 *
 * <p>Leases end with the queue pair. A reader that is silent, with leases or without, for the lease time-out is cut off first and loses its leases then, so
 * it cannot read what has been reused, however wrong its clock is or however long it was stopped.
 */
final class ServingLink extends Link {
    private static final long HANDSHAKE_NS = TimeUnit.SECONDS.toNanos(20);

    private final LeaseCounts leases;
    private final long leaseTimeoutNs;
    private final List<ReadState> none = new ArrayList<>(0);

    @GuardedBy("this")
    private final Map<Integer, ReadLease> held = new HashMap<>();

    @GuardedBy("this")
    private long lastHeardNs = System.nanoTime();

    ServingLink(
            Device device,
            CmLoop cm,
            int number,
            long id,
            ControlBlock control,
            LeaseCounts leases,
            long leaseTimeoutNs) {
        super(device, cm, number, id, ControlBlock.SENDS, control);
        this.leases = leases;
        this.leaseTimeoutNs = leaseTimeoutNs;
    }

    @Override
    public void onEvent(CmEvent event) {
        if (event.type() == CmEvent.ESTABLISHED) {
            device().counters().accepts.increment();
            opened();
        } else {
            super.onEvent(event);
        }
    }

    @Override
    @GuardedBy("this")
    void received(int type, int key, long sequence) {
        lastHeardNs = System.nanoTime();
        switch (type) {
            case Message.LEASE -> held.computeIfAbsent(key, leases::hold);
            case Message.RELEASE -> release(key);
            case Message.PING -> {
                // That it came is all it says.
            }
            default -> {
                breakOff(new TransportException(
                        Reason.PEER_GONE, "the reader sent an unknown message: type=" + type + "; " + this));
                return;
            }
        }
        if (ring.free() == 0) {
            breakOff(new TransportException(
                    Reason.PEER_GONE, "the reader sends more than it may without an answer; " + this));
            return;
        }
        postMessage(Message.DONE, key, sequence);
    }

    @GuardedBy("this")
    private void release(int key) {
        ReadLease lease = held.remove(key);
        if (lease != null) {
            lease.close();
        }
    }

    @Override
    void sent(long sequence, int status, int vendorError) {
        synchronized (this) {
            if (!ring.isInFlight(sequence)) {
                device().counters().strayCompletions.increment();
            } else if (status == 0) {
                ring.complete(sequence, none);
            } else {
                breakOff(new TransportException(
                        Reason.PEER_GONE,
                        "an answer did not reach the reader: status=" + WcStatus.name(status) + ", vendorError=0x"
                                + Integer.toHexString(vendorError) + "; " + this));
            }
        }
    }

    @Override
    void tick(long nowNs) {
        synchronized (this) {
            if (state() == State.CONNECTING && isOlderThan(nowNs, HANDSHAKE_NS)) {
                breakOff(new TransportException(Reason.TIMEOUT, "the reader did not finish connecting; " + this));
            } else if (state() == State.OPEN && nowNs - lastHeardNs > leaseTimeoutNs) {
                breakOff(new TransportException(
                        Reason.PEER_GONE,
                        "the reader was silent for longer than leaseTimeoutMs="
                                + TimeUnit.NANOSECONDS.toMillis(leaseTimeoutNs) + "; " + this));
            }
        }
    }

    @Override
    long nextDeadlineNs() {
        return NEVER;
    }

    @Override
    void ended(TransportException why) {
        synchronized (this) {
            held.values().forEach(ReadLease::close);
            held.clear();
        }
    }

    @Override
    public String toString() {
        return "serving connection " + number() + " on " + device().name();
    }
}
