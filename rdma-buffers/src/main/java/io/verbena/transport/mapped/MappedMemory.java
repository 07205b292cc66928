package io.verbena.transport.mapped;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.memory.OffHeap;
import io.verbena.transport.CopyProgress;
import io.verbena.transport.CountedLease;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A neighbour's segments in this address space.
 *
 * <p>Ownership: mappings stay until the peer drops the segment or this is closed, and then until no lease and no copy uses this
 * object any more.
 * <p>Threads: any; uses and retired mappings are guarded by this. The table is replaced as a whole.
 */
final class MappedMemory implements RemoteMemory, CopyProgress.Source {
    private static final long FIRST_PARK_NS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final long LAST_PARK_NS = TimeUnit.MILLISECONDS.toNanos(2);

    private final MappedTransport reader;
    private final UUID token;
    private final LeaseFile leaseFile;
    private volatile Map<Integer, PeerSegment> table;
    private volatile boolean closed;

    /** Leases and copies that may touch a mapping, plus one until close. */
    @GuardedBy("this")
    private int uses = 1;

    @GuardedBy("this")
    private final List<PeerSegment> retired = new ArrayList<>();

    /** @param leaseFile this object's share, closed with it */
    MappedMemory(MappedTransport reader, EndpointDescriptor descriptor, LeaseFile leaseFile) {
        this.reader = reader;
        this.token = descriptor.token();
        this.leaseFile = leaseFile;
        this.table = merge(Map.of(), descriptor);
    }

    private static Map<Integer, PeerSegment> merge(Map<Integer, PeerSegment> old, EndpointDescriptor descriptor) {
        Map<Integer, PeerSegment> merged = new HashMap<>();
        for (SegmentEntry entry : descriptor.segments()) {
            if (entry.file() != null) {
                PeerSegment known = old.get(entry.rkey());
                boolean same = known != null && known.entry().equals(entry);
                merged.put(entry.rkey(), same ? known : new PeerSegment(entry));
            }
        }
        return merged;
    }

    @Override
    public String transport() {
        return reader.name();
    }

    @Override
    public synchronized void refresh(byte[] descriptor) throws TransportException {
        EndpointDescriptor peer = EndpointDescriptor.decode(descriptor);
        check();
        if (!peer.token().equals(token)) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "descriptor is another endpoint's: token=" + peer.token() + ", connected=" + token
                            + "; connect again");
        }
        Map<Integer, PeerSegment> merged = merge(table, peer);
        for (PeerSegment segment : table.values()) {
            if (!segment.equals(merged.get(segment.entry().rkey()))) {
                retired.add(segment);
            }
        }
        table = merged;
        unmapRetired();
    }

    @Override
    public boolean knows(int rkey) {
        return table.containsKey(rkey);
    }

    @Override
    public ReadLease acquireLease(int key, Duration timeout) throws TransportException {
        long deadlineNs = System.nanoTime() + timeout.toNanos();
        long parkNs = FIRST_PARK_NS;
        begin();
        ReadLease lease = null;
        try {
            lease = tryHold(key);
            while (lease == null) {
                if (System.nanoTime() - deadlineNs > 0) {
                    throw new TransportException(
                            Reason.TIMEOUT,
                            "cannot lease key=" + key + " within timeoutNs=" + timeout.toNanos() + ": file="
                                    + leaseFile.file().path());
                }
                LockSupport.parkNanos(parkNs);
                parkNs = Math.min(2 * parkNs, LAST_PARK_NS);
                check();
                lease = tryHold(key);
            }
        } finally {
            if (lease == null) {
                end();
            }
        }
        ReadLease held = lease;
        return new CountedLease(key, () -> {
            held.close();
            end();
        });
    }

    private ReadLease tryHold(int key) throws TransportException {
        try {
            return leaseFile.tryHold(key);
        } catch (IOException e) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "cannot lease key=" + key + ": file=" + leaseFile.file().path(),
                    e);
        }
    }

    @Override
    public boolean supportsViews() {
        return true;
    }

    @Override
    public long view(long remoteAddress, int rkey, long length) throws TransportException {
        PeerSegment segment = find(remoteAddress, rkey, length);
        return OffHeap.addressOf(map(segment)) + segment.entry().offsetOf(remoteAddress, length);
    }

    @Override
    public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) throws TransportException {
        PeerSegment segment = find(remoteAddress, rkey, length);
        return map(segment)
                .slice((int) segment.entry().offsetOf(remoteAddress, length), length)
                .order(ByteOrder.nativeOrder());
    }

    private PeerSegment find(long remoteAddress, int rkey, long length) throws TransportException {
        checkOpen();
        PeerSegment segment = table.get(rkey);
        if (segment == null || segment.entry().offsetOf(remoteAddress, length) < 0) {
            throw new TransportException(
                    Reason.REMOTE_ACCESS,
                    "range refused: rkey=0x" + Integer.toHexString(rkey) + ", remoteAddress=0x"
                            + Long.toHexString(remoteAddress) + ", length=" + length + ", segment="
                            + (segment == null ? "unknown" : segment.entry()));
        }
        return segment;
    }

    private MappedByteBuffer map(PeerSegment segment) throws TransportException {
        try {
            return segment.mapping();
        } catch (IOException e) {
            Reason reason = leaseFile.isOwnerAlive() ? Reason.REMOTE_ACCESS : Reason.PEER_GONE;
            throw new TransportException(reason, "cannot map a segment of a neighbour: segment=" + segment.entry(), e);
        }
    }

    @Override
    public void read(ReadRequest request) {
        reader.progress().submit(request, this);
    }

    @Override
    public boolean isAlive() {
        return !closed && leaseFile.isOwnerAlive();
    }

    @Override
    public synchronized void begin() throws TransportException {
        check();
        uses++;
    }

    @Override
    public long locate(Range range) throws TransportException {
        return view(range.remoteAddress(), range.rkey(), range.length());
    }

    @Override
    public void check() throws TransportException {
        checkOpen();
        if (!leaseFile.isOwnerAlive()) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "the neighbour has ended: file=" + leaseFile.file().path());
        }
    }

    private void checkOpen() throws TransportException {
        if (closed || reader.isClosed()) {
            throw new TransportException(Reason.CLOSED, "this side of the mapped connection is closed");
        }
    }

    @Override
    public synchronized void end() {
        uses--;
        unmapRetired();
        if (uses == 0) {
            leaseFile.close();
        }
    }

    /** Unmaps what the peer has dropped, or everything after close, unless somebody may be looking at it. */
    @GuardedBy("this")
    private void unmapRetired() {
        boolean unused = uses == (closed ? 0 : 1);
        if (unused) {
            retired.forEach(PeerSegment::unmap);
            retired.clear();
        }
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            retired.addAll(table.values());
            table = Map.of();
            end();
        }
    }
}
