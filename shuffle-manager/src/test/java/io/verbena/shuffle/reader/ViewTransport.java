package io.verbena.shuffle.reader;

import io.verbena.memory.OffHeap;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

/** Loopback with views, as neighbours on one host have them. A view is a copy, so a test can damage what the reader sees. */
final class ViewTransport implements Transport {
    private final Transport inner;
    final AtomicInteger leases = new AtomicInteger();
    volatile UnaryOperator<ByteBuffer> damage = UnaryOperator.identity();

    /** Keys of segments that cannot be mapped. */
    final Set<Integer> plain = ConcurrentHashMap.newKeySet();

    ViewTransport(Transport inner) {
        this.inner = inner;
    }

    @Override
    public String name() {
        return inner.name();
    }

    @Override
    public byte[] descriptor() {
        return inner.descriptor();
    }

    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException {
        return new Memory(inner.connect(descriptor, timeout));
    }

    @Override
    public boolean unread(int key) {
        return inner.unread(key);
    }

    @Override
    public ReadLease leaseLocal(int key) {
        return inner.leaseLocal(key);
    }

    @Override
    public void close() {
        inner.close();
    }

    private final class Memory implements RemoteMemory {
        private final RemoteMemory remote;

        Memory(RemoteMemory remote) {
            this.remote = remote;
        }

        @Override
        public String transport() {
            return remote.transport();
        }

        @Override
        public void refresh(byte[] descriptor) throws TransportException {
            remote.refresh(descriptor);
        }

        @Override
        public boolean knows(int rkey) {
            return !plain.contains(rkey) && remote.knows(rkey);
        }

        @Override
        public ReadLease acquireLease(int key, Duration timeout) throws TransportException {
            ReadLease lease = remote.acquireLease(key, timeout);
            leases.incrementAndGet();
            return new ReadLease() {
                private boolean closed;

                @Override
                public int key() {
                    return key;
                }

                @Override
                public synchronized void close() {
                    if (!closed) {
                        closed = true;
                        leases.decrementAndGet();
                        lease.close();
                    }
                }
            };
        }

        @Override
        public boolean supportsViews() {
            return true;
        }

        @Override
        public long view(long remoteAddress, int rkey, long length) {
            return remoteAddress;
        }

        @Override
        public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) throws TransportException {
            if (leases.get() == 0) {
                throw new TransportException(TransportException.Reason.REMOTE_ACCESS, "view without a lease");
            }
            if (!knows(rkey)) {
                throw new TransportException(TransportException.Reason.REMOTE_ACCESS, "unknown rkey=" + rkey);
            }
            ByteBuffer copy = ByteBuffer.allocateDirect(length);
            OffHeap.copy(null, remoteAddress, null, OffHeap.addressOf(copy), length);
            return damage.apply(copy);
        }

        @Override
        public void read(ReadRequest request) {
            remote.read(request);
        }

        @Override
        public boolean isAlive() {
            return remote.isAlive();
        }

        @Override
        public void close() {
            remote.close();
        }
    }
}
