package io.verbena.transport.ways;

import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Map;

/** A peer's memory by one of its ways; only refreshing differs, since the peer publishes all ways at once. Threads: any. */
final class WaysMemory implements RemoteMemory {
    private final RemoteMemory memory;

    WaysMemory(RemoteMemory memory) {
        this.memory = memory;
    }

    @Override
    public String transport() {
        return memory.transport();
    }

    @Override
    public void refresh(byte[] descriptor) throws TransportException {
        Map<String, byte[]> parts = WaysDescriptor.decode(descriptor);
        byte[] own = parts.get(transport());
        if (own == null) {
            throw new TransportException(
                    Reason.PEER_GONE,
                    "descriptor is another endpoint's: transports=" + parts.keySet() + ", connected by=" + transport()
                            + "; connect again");
        }
        memory.refresh(own);
    }

    @Override
    public boolean knows(int rkey) {
        return memory.knows(rkey);
    }

    @Override
    public ReadLease acquireLease(int key, Duration timeout) throws TransportException {
        return memory.acquireLease(key, timeout);
    }

    @Override
    public boolean supportsViews() {
        return memory.supportsViews();
    }

    @Override
    public long view(long remoteAddress, int rkey, long length) throws TransportException {
        return memory.view(remoteAddress, rkey, length);
    }

    @Override
    public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) throws TransportException {
        return memory.viewBuffer(remoteAddress, rkey, length);
    }

    @Override
    public void read(ReadRequest request) {
        memory.read(request);
    }

    @Override
    public boolean isAlive() {
        return memory.isAlive();
    }

    @Override
    public void close() {
        memory.close();
    }
}
