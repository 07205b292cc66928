package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvMr;
import io.verbena.registration.MemoryRegion;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.DeviceEntry;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.LeaseCounts;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The endpoint on all devices of this process.
 *
 * <p>Leases: a reader's live exactly as long as its queue pair here. The owner may reuse memory once the key is unread; a reader
 * that lost its lease has lost its connection with it and cannot read at all.
 *
 * <p>Threads: any.
 */
final class VerbsTransport implements Transport {
    private static final Logger LOG = LoggerFactory.getLogger(VerbsTransport.class);

    static final String NAME = "verbs";

    private static final long CLOSE_WAIT_MS = 10_000;

    private final Engine engine;
    private final Supplier<List<MemoryRegion>> regions;
    private final UUID token = UUID.randomUUID();
    private final LeaseCounts leases = new LeaseCounts();
    private final Set<VerbsMemory> memories = ConcurrentHashMap.newKeySet();
    private final Set<Dial> dials = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    VerbsTransport(Engine engine, Supplier<List<MemoryRegion>> regions) {
        this.engine = engine;
        this.regions = regions;
    }

    /** Starts to accept. */
    void open() {
        long leaseTimeoutNs = engine.options().leaseTimeout().toNanos();
        onCmThread(() -> {
            for (Listener listener : engine.listeners()) {
                try {
                    listener.listen(engine.cm(), token, leases, leaseTimeoutNs);
                } catch (IOException e) {
                    LOG.warn("peers cannot connect to {}: {}", listener.address(), e.getMessage());
                }
            }
        });
    }

    private void onCmThread(Runnable task) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        engine.cm().execute(() -> {
            try {
                task.run();
            } finally {
                done.complete(null);
            }
        });
        if (engine.cm().isThread()) {
            return;
        }
        try {
            done.get(CLOSE_WAIT_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("the CM thread did not answer within waitedMs={}", CLOSE_WAIT_MS);
        }
    }

    boolean isClosed() {
        return closed;
    }

    IbvMr region(int segmentId, Device device) {
        return engine.registrar().region(segmentId, engine.devices().indexOf(device));
    }

    void forget(VerbsMemory memory) {
        memories.remove(memory);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public byte[] descriptor() {
        List<MemoryRegion> now = regions.get();
        List<SegmentEntry> segments = new ArrayList<>(now.size());
        for (MemoryRegion region : now) {
            segments.add(new SegmentEntry(
                    region.segment().id(),
                    region.segment().address(),
                    region.segment().length(),
                    region.rkey(),
                    null));
        }
        List<DeviceEntry> devices = new ArrayList<>();
        for (int i = 0; i < engine.devices().size(); i++) {
            List<Integer> rkeys = new ArrayList<>(now.size());
            for (MemoryRegion region : now) {
                rkeys.add(engine.deviceKey(region.segment().id(), i));
            }
            Device device = engine.devices().get(i);
            devices.add(new DeviceEntry(device.isUsable() ? device.addresses() : List.of(), rkeys));
        }
        return new EndpointDescriptor(NAME, "", token, null, segments, devices).encode();
    }

    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException {
        EndpointDescriptor owner = EndpointDescriptor.decode(descriptor);
        if (closed) {
            throw new TransportException(Reason.CLOSED, "cannot connect: the verbs transport is closed");
        }
        if (!owner.transport().equals(NAME)) {
            throw new TransportException(
                    Reason.NOT_REACHABLE, "the peer has no RDMA endpoint: transport=" + owner.transport());
        }
        List<Route> routes = engine.routes().to(owner);
        if (routes.isEmpty()) {
            throw new TransportException(
                    Reason.NOT_REACHABLE,
                    "no address of the peer can be reached from a device here: peer=" + owner.devices() + ", here="
                            + engine.describe());
        }
        long deadlineNs = System.nanoTime() + timeout.toNanos();
        TransportException last = null;
        for (int i = 0; i < routes.size() && (last == null || System.nanoTime() - deadlineNs < 0); i++) {
            // Later routes get their share of the time even if this one gives no answer.
            long leftNs = deadlineNs - System.nanoTime();
            long untilNs = System.nanoTime() + leftNs / (routes.size() - i);
            try {
                return connect(owner, routes.get(i), untilNs);
            } catch (TransportException e) {
                LOG.debug("route {} of {}: {}", i + 1, routes.size(), e.getMessage());
                if (last != null) {
                    e.addSuppressed(last);
                }
                last = e;
            }
        }
        throw last;
    }

    private VerbsMemory connect(EndpointDescriptor owner, Route route, long untilNs) throws TransportException {
        Dial dial = new Dial(
                engine.cm(), engine.options(), engine::deviceOf, route.local(), route.remote(), owner.token(), untilNs);
        dials.add(dial);
        ReaderLink link;
        try {
            if (closed) {
                throw new TransportException(Reason.CLOSED, "cannot connect: the verbs transport is closed");
            }
            engine.cm().execute(dial::start);
            link = await(dial, untilNs);
        } finally {
            dials.remove(dial);
        }
        VerbsMemory memory = new VerbsMemory(this, link, owner, route.ownerDevice());
        memories.add(memory);
        if (closed) {
            memory.cut();
            throw new TransportException(Reason.CLOSED, "the verbs transport was closed while connecting");
        }
        return memory;
    }

    private ReaderLink await(Dial dial, long untilNs) throws TransportException {
        try {
            return dial.result().get(untilNs - System.nanoTime(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            engine.cm().execute(() -> dial.abandon(Reason.TIMEOUT, "no answer within the deadline"));
            return afterAbandoning(dial, e);
        } catch (ExecutionException e) {
            throw failure(e);
        } catch (InterruptedException e) {
            throw interrupted(dial, e);
        }
    }

    /** Nobody will use the connection, even if it is established at the last moment. */
    private TransportException interrupted(Dial dial, InterruptedException e) {
        engine.cm().execute(() -> dial.abandon(Reason.TIMEOUT, "interrupted"));
        TransportException failure = new TransportException(Reason.TIMEOUT, "interrupted while connecting", e);
        disown(dial, failure);
        Thread.currentThread().interrupt();
        return failure;
    }

    private static void disown(Dial dial, TransportException why) {
        CompletableFuture<Void> unused = dial.result().thenAccept(link -> link.breakOff(why));
    }

    /** The CM thread says how it ended: abandoned, or established at the last moment. */
    private ReaderLink afterAbandoning(Dial dial, TimeoutException late) throws TransportException {
        try {
            return dial.result().get(CLOSE_WAIT_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw failure(e);
        } catch (TimeoutException e) {
            TransportException failure = new TransportException(Reason.TIMEOUT, "the CM thread does not answer", late);
            disown(dial, failure);
            throw failure;
        } catch (InterruptedException e) {
            throw interrupted(dial, e);
        }
    }

    private static TransportException failure(ExecutionException e) {
        return e.getCause() instanceof TransportException cause
                ? new TransportException(cause.reason(), cause.getMessage(), cause)
                : new TransportException(Reason.NOT_REACHABLE, "connecting failed: " + e.getCause(), e);
    }

    @Override
    public boolean unread(int key) {
        return !leases.isHeld(key);
    }

    @Override
    public ReadLease leaseLocal(int key) {
        return leases.hold(key);
    }

    /** Waits up to 10 seconds for the connections to end. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        memories.forEach(VerbsMemory::cut);
        memories.clear();
        onCmThread(() -> {
            dials.forEach(dial -> dial.abandon(Reason.CLOSED, "the transport is closed"));
            engine.listeners().forEach(Listener::close);
        });
        for (Device device : engine.devices()) {
            for (Link link : device.links().all()) {
                link.breakOff(new TransportException(Reason.CLOSED, "the transport is closed; " + link));
            }
        }
        awaitNoLinks();
    }

    private void awaitNoLinks() {
        for (Device device : engine.devices()) {
            if (!device.links().awaitEmpty(CLOSE_WAIT_MS)) {
                LOG.warn(
                        "connections have not ended after waitedMs={}: {}",
                        CLOSE_WAIT_MS,
                        device.links().all());
            }
        }
    }
}
