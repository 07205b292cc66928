package io.verbena.transport.mapped;

import io.verbena.memory.Segment;
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
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads a neighbour's segments by mapping their files: same kernel (boot id) and the same files under the same paths. Reads are
 * views without a copy; the owner's processor does nothing.
 *
 * <p>Ownership: the lease directory is the owner directory of the backing and outlives the transport. Close the transport before
 * the arena and the backing.
 * <p>Threads: any.
 */
public final class MappedTransport implements Transport {
    private static final Logger LOG = LoggerFactory.getLogger(MappedTransport.class);
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private final Supplier<List<MemoryRegion>> regions;
    private final UUID token = UUID.randomUUID();
    private final String bootId;
    private final CopyProgress progress = new CopyProgress("mapped");

    /** Null when nothing here can be shared; then local leases are counted only. */
    private final LeaseFile leaseFile;

    private final LeaseCounts localLeases = new LeaseCounts();
    private volatile boolean closed;

    /**
     * Opens an endpoint.
     *
     * @param regions what is registered now; asked for every descriptor
     * @param leaseDirectory the owner directory of the backing; null when nothing can be shared: then the descriptor says so and
     *     connecting to it fails with NOT_REACHABLE
     * @throws UncheckedIOException if the lease file cannot be made
     */
    public MappedTransport(Supplier<List<MemoryRegion>> regions, Path leaseDirectory) {
        this.regions = regions;
        try {
            this.bootId = Files.readString(BOOT_ID).strip();
            this.leaseFile =
                    leaseDirectory == null ? null : LeaseFile.create(leaseDirectory.resolve("leases-" + token));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot open the mapped transport: leaseDirectory=" + leaseDirectory, e);
        }
    }

    @Override
    public String name() {
        return "mapped";
    }

    @Override
    public byte[] descriptor() {
        List<SegmentEntry> shared = leaseFile == null
                ? List.of()
                : regions.get().stream()
                        .filter(region -> region.segment().file() != null)
                        .map(MappedTransport::entry)
                        .toList();
        return new EndpointDescriptor(name(), bootId, token, leaseFile == null ? null : leaseFile.file(), shared)
                .encode();
    }

    private static SegmentEntry entry(MemoryRegion region) {
        Segment segment = region.segment();
        return new SegmentEntry(segment.id(), segment.address(), segment.length(), region.rkey(), segment.file());
    }

    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException {
        EndpointDescriptor peer = EndpointDescriptor.decode(descriptor);
        if (closed) {
            throw new TransportException(Reason.CLOSED, "cannot connect: the mapped transport is closed");
        }
        if (!peer.transport().equals(name())) {
            throw notReachable("descriptor is of transport=" + peer.transport(), null);
        }
        if (peer.leaseFile() == null) {
            throw notReachable("its memory is not backed by files", null);
        }
        if (!peer.bootId().equals(bootId)) {
            throw notReachable("another host: bootId=" + peer.bootId() + ", own=" + bootId, null);
        }
        LeaseFile file;
        try {
            file = LeaseFile.open(peer.leaseFile());
        } catch (IOException e) {
            throw notReachable("its lease file is not visible here: " + peer.leaseFile(), e);
        }
        if (!file.isOwnerAlive()) {
            file.close();
            throw notReachable("it has ended: " + peer.leaseFile(), null);
        }
        LOG.debug(
                "mapped a neighbour: token={}, segments={}",
                peer.token(),
                peer.segments().size());
        return new MappedMemory(this, peer, file);
    }

    private static TransportException notReachable(String why, IOException cause) {
        return new TransportException(Reason.NOT_REACHABLE, "peer is not a neighbour: " + why, cause);
    }

    @Override
    public boolean unread(int key) {
        return !localLeases.isHeld(key) && (leaseFile == null || (!closed && leaseFile.isUnread(key)));
    }

    @Override
    public ReadLease leaseLocal(int key) {
        return localLeases.hold(key);
    }

    /** As {@link Transport#close}. After it {@link #unread} is false if neighbours may have mapped memory, since nobody can tell. */
    @Override
    public void close() {
        synchronized (token) {
            if (closed) {
                return;
            }
            closed = true;
        }
        progress.close();
        if (leaseFile != null) {
            leaseFile.closeOwner();
        }
    }

    boolean isClosed() {
        return closed;
    }

    CopyProgress progress() {
        return progress;
    }
}
