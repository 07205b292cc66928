package io.verbena.transport.loopback;

import io.verbena.registration.MemoryRegion;
import io.verbena.transport.CopyProgress;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** One loopback endpoint as seen by another. Threads: any. */
final class LoopbackMemory implements RemoteMemory, CopyProgress.Source {
    private final LoopbackTransport reader;
    private final LoopbackTransport owner;
    private volatile Map<Integer, SegmentEntry> table;
    private volatile boolean closed;

    LoopbackMemory(LoopbackTransport reader, LoopbackTransport owner, EndpointDescriptor descriptor) {
        this.reader = reader;
        this.owner = owner;
        this.table = index(descriptor);
    }

    private static Map<Integer, SegmentEntry> index(EndpointDescriptor descriptor) {
        return descriptor.segments().stream().collect(Collectors.toMap(SegmentEntry::rkey, Function.identity()));
    }

    @Override
    public String transport() {
        return reader.name();
    }

    @Override
    public void refresh(byte[] descriptor) throws TransportException {
        EndpointDescriptor peer = EndpointDescriptor.decode(descriptor);
        check();
        if (!peer.token().equals(owner.token())) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "descriptor is another endpoint's: token=" + peer.token() + ", connected=" + owner.token()
                            + "; connect again");
        }
        table = index(peer);
    }

    @Override
    public boolean knows(int rkey) {
        return table.containsKey(rkey);
    }

    @Override
    public ReadLease acquireLease(int key, Duration timeout) throws TransportException {
        check();
        return owner.leaseLocal(key);
    }

    @Override
    public boolean supportsViews() {
        return false;
    }

    @Override
    public long view(long remoteAddress, int rkey, long length) {
        throw new UnsupportedOperationException("loopback has no views: use read");
    }

    @Override
    public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) {
        throw new UnsupportedOperationException("loopback has no views: use read");
    }

    @Override
    public void read(ReadRequest request) {
        reader.progress().submit(request, this);
    }

    @Override
    public boolean isAlive() {
        return !owner.isClosed();
    }

    @Override
    public void begin() throws TransportException {
        check();
    }

    @Override
    public long locate(Range range) throws TransportException {
        SegmentEntry known = table.get(range.rkey());
        MemoryRegion registered = owner.registered(range.rkey());
        if (known == null || registered == null || known.offsetOf(range.remoteAddress(), range.length()) < 0) {
            throw new TransportException(
                    Reason.REMOTE_ACCESS,
                    "range refused: rkey=0x" + Integer.toHexString(range.rkey()) + ", remoteAddress=0x"
                            + Long.toHexString(range.remoteAddress()) + ", length=" + range.length() + ", segment="
                            + known + ", registered=" + (registered != null));
        }
        return range.remoteAddress();
    }

    @Override
    public void check() throws TransportException {
        if (closed || reader.isClosed()) {
            throw new TransportException(Reason.CLOSED, "this side of the loopback connection is closed");
        }
        if (owner.isClosed()) {
            throw new TransportException(
                    Reason.PEER_GONE, "the loopback endpoint has been closed: token=" + owner.token());
        }
    }

    @Override
    public void end() {
        // Nothing was pinned: the owner may not deregister while a lease is held.
    }

    @Override
    public void close() {
        closed = true;
    }
}
