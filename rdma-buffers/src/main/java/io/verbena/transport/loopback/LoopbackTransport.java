package io.verbena.transport.loopback;

import io.verbena.registration.MemoryRegion;
import io.verbena.transport.CopyProgress;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.LeaseCounts;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Endpoints of one process that read each other's registered memory by copying, as a device would: a key that is not registered
 * now, or a range outside its segment, is refused. There are no views, so users are tested on the path a network card takes.
 *
 * <p>Ownership: whoever deregisters a segment must know that no read is in flight, as with a device.
 * <p>Threads: any.
 */
public final class LoopbackTransport implements Transport {
    private static final Map<UUID, LoopbackTransport> ENDPOINTS = new ConcurrentHashMap<>();

    private final Supplier<List<MemoryRegion>> regions;
    private final UUID token = UUID.randomUUID();
    private final LeaseCounts leases = new LeaseCounts();
    private final CopyProgress progress = new CopyProgress("loopback");
    private volatile boolean closed;

    /** @param regions what is registered now; asked for every descriptor and every read */
    public LoopbackTransport(Supplier<List<MemoryRegion>> regions) {
        this.regions = regions;
        ENDPOINTS.put(token, this);
    }

    @Override
    public String name() {
        return "loopback";
    }

    @Override
    public byte[] descriptor() {
        List<SegmentEntry> entries = regions.get().stream()
                .map(region -> new SegmentEntry(
                        region.segment().id(),
                        region.segment().address(),
                        region.segment().length(),
                        region.rkey(),
                        null))
                .toList();
        return new EndpointDescriptor(name(), "", token, null, entries).encode();
    }

    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException {
        EndpointDescriptor peer = EndpointDescriptor.decode(descriptor);
        if (closed) {
            throw new TransportException(Reason.CLOSED, "cannot connect: the loopback transport is closed");
        }
        LoopbackTransport owner = ENDPOINTS.get(peer.token());
        if (!peer.transport().equals(name()) || owner == null) {
            throw new TransportException(
                    Reason.NOT_REACHABLE,
                    "no loopback endpoint in this process: transport=" + peer.transport() + ", token=" + peer.token());
        }
        return new LoopbackMemory(this, owner, peer);
    }

    @Override
    public boolean unread(int key) {
        return !leases.isHeld(key);
    }

    @Override
    public ReadLease leaseLocal(int key) {
        return leases.hold(key);
    }

    @Override
    public void close() {
        closed = true;
        ENDPOINTS.remove(token, this);
        progress.close();
    }

    boolean isClosed() {
        return closed;
    }

    UUID token() {
        return token;
    }

    CopyProgress progress() {
        return progress;
    }

    /** Returns what is registered under the key now, null if nothing is. */
    MemoryRegion registered(int rkey) {
        return regions.get().stream()
                .filter(region -> region.rkey() == rkey)
                .findFirst()
                .orElse(null);
    }
}
