package io.verbena.transport.ways;

import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * An ordered list of transports over the same memory, as one: peers connect by the first that leads to them.
 *
 * <p>Ownership: owns its parts and closes them, the last first. Threads: any.
 */
public final class WaysTransport implements Transport {
    private final List<Transport> parts;
    private volatile boolean closed;

    /**
     * Takes over the parts.
     *
     * @param parts the preferred one first
     * @throws IllegalArgumentException if there is none, or two have the same name
     */
    public WaysTransport(List<Transport> parts) {
        this.parts = List.copyOf(parts);
        List<String> names = parts.stream().map(Transport::name).toList();
        if (names.isEmpty() || names.stream().distinct().count() < names.size()) {
            throw new IllegalArgumentException(
                    "transports must have different names, and at least one: names=" + names);
        }
    }

    @Override
    public String name() {
        return parts.stream().map(Transport::name).collect(Collectors.joining("+"));
    }

    @Override
    public byte[] descriptor() {
        Map<String, byte[]> descriptors = new LinkedHashMap<>();
        for (Transport part : parts) {
            descriptors.put(part.name(), part.descriptor());
        }
        return WaysDescriptor.encode(descriptors);
    }

    /**
     * Tries the parts in order, as far as the peer has them too. A part that does not lead there or does not answer in time makes
     * room for the next.
     *
     * @param timeout for all parts together
     * @throws TransportException as {@link Transport#connect}; if no part leads there, TIMEOUT if one ran into it and else
     *     NOT_REACHABLE, with every part's reason
     */
    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException {
        Map<String, byte[]> theirs = WaysDescriptor.decode(descriptor);
        if (closed) {
            throw new TransportException(Reason.CLOSED, "cannot connect: the transport is closed: name=" + name());
        }
        long deadlineNs = System.nanoTime() + timeout.toNanos();
        List<String> reasons = new ArrayList<>();
        Reason reason = Reason.NOT_REACHABLE;
        TransportException last = null;
        for (Transport part : parts) {
            byte[] own = theirs.get(part.name());
            if (own == null) {
                reasons.add(part.name() + ": the peer does not have it");
                continue;
            }
            Duration left = Duration.ofNanos(Math.max(1, deadlineNs - System.nanoTime()));
            try {
                return new WaysMemory(part.connect(own, left));
            } catch (TransportException e) {
                if (e.reason() != Reason.NOT_REACHABLE && e.reason() != Reason.TIMEOUT) {
                    throw e;
                }
                reasons.add(part.name() + ": " + e.getMessage());
                reason = e.reason() == Reason.TIMEOUT ? Reason.TIMEOUT : reason;
                last = e;
            }
        }
        throw new TransportException(reason, "no way leads to the peer: " + String.join("; ", reasons), last);
    }

    @Override
    public boolean unread(int key) {
        for (Transport part : parts) {
            if (!part.unread(key)) {
                return false;
            }
        }
        return true;
    }

    /** Held in the first part; {@link #unread} asks all. */
    @Override
    public ReadLease leaseLocal(int key) {
        return parts.get(0).leaseLocal(key);
    }

    @Override
    public void close() {
        closed = true;
        for (int i = parts.size() - 1; i >= 0; i--) {
            parts.get(i).close();
        }
    }
}
