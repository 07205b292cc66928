package io.verbena.shuffle.reader;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.transport.CountedLease;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;

/** Loopback without views whose reads fail, wait or are damaged as a test says. Reads are numbered from 0. */
final class FaultyTransport implements Transport {
    private final Transport inner;
    final AtomicInteger leases = new AtomicInteger();
    final AtomicInteger connects = new AtomicInteger();
    final AtomicInteger reads = new AtomicInteger();
    final AtomicInteger readsInFlight = new AtomicInteger();
    final AtomicInteger mostReadsInFlight = new AtomicInteger();
    final AtomicInteger readsWithoutLease = new AtomicInteger();

    /** Why a read fails; {@code null} if it does not. */
    volatile IntFunction<Reason> failing = n -> null;

    /** Changes what a read brought. */
    volatile Damage damage = (n, received) -> {};

    /** Why connecting fails; {@code null} if it does not. */
    volatile Reason refusal;

    /** Whether leasing fails. */
    volatile boolean refusesLeases;

    private final List<Runnable> delayed = new ArrayList<>();
    private boolean delaying;
    private final List<Memory> connected = new ArrayList<>();

    interface Damage {
        void apply(int read, ByteBuffer received);
    }

    FaultyTransport(Transport inner) {
        this.inner = inner;
    }

    /** From now on ends of reads are kept back. */
    synchronized void delay() {
        delaying = true;
    }

    synchronized int delayedReads() {
        return delayed.size();
    }

    /** Tells the ends that were kept back, and keeps none back any more. */
    void release() {
        List<Runnable> ends;
        synchronized (this) {
            delaying = false;
            ends = new ArrayList<>(delayed);
            delayed.clear();
        }
        ends.forEach(Runnable::run);
    }

    /** Breaks all connections there are. */
    synchronized void breakConnections() {
        connected.forEach(memory -> memory.dead = true);
        connected.clear();
    }

    private void end(Runnable told) {
        synchronized (this) {
            if (delaying) {
                delayed.add(told);
                return;
            }
        }
        told.run();
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
        connects.incrementAndGet();
        if (refusal != null) {
            throw new TransportException(refusal, "connecting fails as the test wants");
        }
        Memory memory = new Memory(inner.connect(descriptor, timeout));
        synchronized (this) {
            connected.add(memory);
        }
        return memory;
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
        private volatile boolean dead;

        Memory(RemoteMemory remote) {
            this.remote = remote;
        }

        private void requireAlive() throws TransportException {
            if (dead) {
                throw new TransportException(Reason.PEER_GONE, "the connection broke as the test wants");
            }
        }

        @Override
        public String transport() {
            return remote.transport();
        }

        @Override
        public void refresh(byte[] descriptor) throws TransportException {
            requireAlive();
            remote.refresh(descriptor);
        }

        @Override
        public boolean knows(int rkey) {
            return remote.knows(rkey);
        }

        @Override
        public ReadLease acquireLease(int key, Duration timeout) throws TransportException {
            requireAlive();
            if (refusesLeases) {
                throw new TransportException(Reason.TIMEOUT, "no lease as the test wants");
            }
            ReadLease lease = remote.acquireLease(key, timeout);
            leases.incrementAndGet();
            return new CountedLease(key, () -> {
                leases.decrementAndGet();
                lease.close();
            });
        }

        @Override
        public boolean supportsViews() {
            return false;
        }

        @Override
        public long view(long remoteAddress, int rkey, long length) throws TransportException {
            return remote.view(remoteAddress, rkey, length);
        }

        @Override
        public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) throws TransportException {
            return remote.viewBuffer(remoteAddress, rkey, length);
        }

        @Override
        public void read(ReadRequest request) {
            int number = reads.getAndIncrement();
            mostReadsInFlight.accumulateAndGet(readsInFlight.incrementAndGet(), Math::max);
            RegisteredBuffer destination = request.destination();
            destination.markPosted();
            remote.read(new ReadRequest(
                    destination, request.ranges(), request.deadlineNs(), new Listener(number, request)));
        }

        private final class Listener implements ReadRequest.Listener {
            private final int number;
            private final ReadRequest request;

            Listener(int number, ReadRequest request) {
                this.number = number;
                this.request = request;
            }

            @Override
            public void onSuccess() {
                tell(null);
            }

            @Override
            public void onFailure(TransportException cause) {
                tell(cause);
            }

            private void tell(TransportException cause) {
                end(() -> {
                    Reason reason = dead ? Reason.PEER_GONE : failing.apply(number);
                    if (leases.get() == 0) {
                        readsWithoutLease.incrementAndGet();
                    }
                    damage.apply(number, request.destination().buffer());
                    readsInFlight.decrementAndGet();
                    request.destination().markCompleted();
                    if (reason != null) {
                        request.listener()
                                .onFailure(
                                        new TransportException(reason, "read " + number + " fails as the test wants"));
                    } else if (cause != null) {
                        request.listener().onFailure(cause);
                    } else {
                        request.listener().onSuccess();
                    }
                });
            }
        }

        @Override
        public boolean isAlive() {
            return !dead && remote.isAlive();
        }

        @Override
        public void close() {
            remote.close();
        }
    }
}
