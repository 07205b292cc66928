package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvMr;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.UUID;

/**
 * A peer's memory behind one connection. When the connection breaks this is dead, and so is every lease and location learnt
 * through it: connect again.
 *
 * <p>Closing: what is not posted fails; the connection itself ends with the last lease, or at once when there is none.
 * <p>Threads: any.
 */
final class VerbsMemory implements RemoteMemory {
    private final VerbsTransport transport;
    private final ReaderLink link;
    private final UUID token;
    private final int ownerDevice;
    private volatile RemoteTable table;
    private volatile boolean closed;

    /** @param ownerDevice which of the owner's devices the connection leads to */
    VerbsMemory(VerbsTransport transport, ReaderLink link, EndpointDescriptor owner, int ownerDevice) {
        this.transport = transport;
        this.link = link;
        this.token = owner.token();
        this.ownerDevice = ownerDevice;
        this.table = new RemoteTable(owner, ownerDevice);
    }

    private TransportException closedException() {
        return new TransportException(Reason.CLOSED, "this side has closed " + link);
    }

    private boolean isClosed() {
        return closed || transport.isClosed();
    }

    @Override
    public String transport() {
        return transport.name();
    }

    @Override
    public void refresh(byte[] descriptor) throws TransportException {
        EndpointDescriptor owner = EndpointDescriptor.decode(descriptor);
        if (isClosed()) {
            throw closedException();
        }
        if (!owner.token().equals(token)) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "descriptor is another endpoint's: token=" + owner.token() + ", connected=" + token
                            + "; connect again");
        }
        if (ownerDevice >= owner.devices().size()) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "the owner's device is gone: devices=" + owner.devices().size());
        }
        table = new RemoteTable(owner, ownerDevice);
    }

    @Override
    public boolean knows(int rkey) {
        return table.knows(rkey);
    }

    @Override
    public ReadLease acquireLease(int key, Duration timeout) throws TransportException {
        if (isClosed()) {
            throw closedException();
        }
        return link.leases().acquire(key, timeout);
    }

    @Override
    public boolean supportsViews() {
        return false;
    }

    @Override
    public long view(long remoteAddress, int rkey, long length) {
        throw new UnsupportedOperationException("verbs has no views: use read");
    }

    @Override
    public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) {
        throw new UnsupportedOperationException("verbs has no views: use read");
    }

    @Override
    public void read(ReadRequest request) {
        RegisteredBuffer destination = request.destination();
        destination.markPosted();
        IbvMr local;
        try {
            request.requireFit();
            local = transport.region(destination.segmentId(), link.device());
        } catch (RuntimeException e) {
            destination.markCompleted();
            throw e;
        }
        if (isClosed()) {
            link.device().progress().fail(request, closedException());
        } else if (local == null) {
            link.device()
                    .progress()
                    .fail(
                            request,
                            new TransportException(
                                    Reason.NOT_REACHABLE,
                                    "the destination is not registered with the device: " + destination + "; " + link));
        } else {
            link.read(request, table, local.getLkey());
        }
    }

    @Override
    public boolean isAlive() {
        return !isClosed() && link.isOpen();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        link.failQueued(closedException());
        link.leases().whenIdle(() -> link.breakOff(closedException()));
        transport.forget(this);
    }

    /** Ends the connection whatever is held or posted. */
    void cut() {
        closed = true;
        link.breakOff(new TransportException(Reason.CLOSED, "the transport is closed; " + link));
    }
}
