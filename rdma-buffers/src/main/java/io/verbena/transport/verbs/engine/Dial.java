package io.verbena.transport.verbs.engine;

import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One attempt to connect: address, route, connect, established. Whoever started it waits for {@link #result} and abandons it at
 * its deadline; every state ends there.
 *
 * <p>Threads: the CM thread, except where said.
 */
final class Dial implements CmHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Dial.class);

    /** Retransmissions before a peer counts as unreachable. Not 7: rxe takes that for endless. */
    private static final int RETRIES = 3;

    /** Receiver-not-ready retries; a receive is always posted, so any is a defect. */
    private static final int RNR_RETRIES = 3;

    private static final String[] STEPS = {"resolving the address", "resolving the route", "connecting"};

    private final CmLoop cm;
    private final VerbsOptions options;
    private final LongFunction<Device> devices;
    private final InetAddress local;
    private final InetSocketAddress remote;
    private final UUID token;
    private final long deadlineNs;
    private final CompletableFuture<ReaderLink> result = new CompletableFuture<>();
    private long id;
    private ReaderLink link;
    private int step;

    /**
     * @param devices finds the device of a context; null if it is not used
     * @param local where to connect from, null for the system's choice
     */
    Dial(
            CmLoop cm,
            VerbsOptions options,
            LongFunction<Device> devices,
            InetAddress local,
            InetSocketAddress remote,
            UUID token,
            long deadlineNs) {
        this.cm = cm;
        this.options = options;
        this.devices = devices;
        this.local = local;
        this.remote = remote;
        this.token = token;
        this.deadlineNs = deadlineNs;
    }

    /** Completes with an open link, or exceptionally with a TransportException. Any thread may wait. */
    CompletableFuture<ReaderLink> result() {
        return result;
    }

    private int leftMs() {
        return (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadlineNs - System.nanoTime()));
    }

    void start() {
        if (result.isDone()) {
            return;
        }
        try {
            id = VerbsNative.createId(cm.channelHandle());
            cm.register(id, this);
            VerbsNative.resolveAddress(
                    id,
                    local == null ? null : local.getAddress(),
                    remote.getAddress().getAddress(),
                    local instanceof Inet6Address v6 ? v6.getScopeId() : 0,
                    remote.getPort(),
                    leftMs());
        } catch (IOException e) {
            give(Reason.NOT_REACHABLE, e.getMessage());
        }
    }

    @Override
    public void onEvent(CmEvent event) {
        try {
            switch (event.type()) {
                case CmEvent.ADDRESS_RESOLVED -> resolveRoute();
                case CmEvent.ROUTE_RESOLVED -> connect();
                case CmEvent.ESTABLISHED -> established(event);
                case CmEvent.REJECTED ->
                    give(Reason.NOT_REACHABLE, Hello.refusalOf(event.privateData()) + ", " + event);
                default -> give(Reason.NOT_REACHABLE, event.toString());
            }
        } catch (IOException e) {
            give(Reason.NOT_REACHABLE, e.getMessage());
        } catch (RuntimeException | Error e) {
            give(Reason.NOT_REACHABLE, e.toString());
        }
    }

    private void resolveRoute() throws IOException {
        step = 1;
        if (options.trafficClass() != 0) {
            VerbsNative.setTypeOfService(id, options.trafficClass());
        }
        if (options.ackTimeout() != 0) {
            VerbsNative.setAckTimeout(id, options.ackTimeout());
        }
        VerbsNative.resolveRoute(id, leftMs());
    }

    private void connect() throws IOException {
        step = 2;
        Device device = devices.apply(VerbsNative.context(id));
        if (device == null) {
            throw new IOException("the route leads through a device that is not used here");
        }
        ControlBlock control = device.controlSlab().take();
        boolean taken = false;
        try {
            link = device.links().add(number -> new ReaderLink(device, cm, number, id, control, options, remote));
            taken = true;
        } finally {
            if (!taken) {
                device.controlSlab().giveBack(control);
            }
        }
        link.createQp();
        VerbsNative.connect(id, Hello.request(token), RETRIES, RNR_RETRIES, device.initiatorDepth(), 1);
    }

    private void established(CmEvent event) {
        int leaseTimeoutMs = Hello.leaseTimeoutMs(event.privateData(), token);
        if (leaseTimeoutMs <= 0) {
            give(Reason.NOT_REACHABLE, "the owner's answer is not this project's");
            return;
        }
        link.leases().timeout(leaseTimeoutMs);
        cm.register(id, link);
        link.opened();
        link.device().counters().connects.increment();
        LOG.debug("connected: {}", link);
        result.complete(link);
    }

    private void give(Reason reason, String why) {
        if (result.isDone()) {
            return;
        }
        TransportException failure = new TransportException(
                reason,
                "cannot connect to " + remote.getAddress().getHostAddress() + ":" + remote.getPort() + " from "
                        + (local == null ? "any address" : local.getHostAddress()) + " while " + STEPS[step] + ": "
                        + why);
        if (link != null) {
            link.breakOff(failure);
        } else if (id != 0) {
            cm.forget(id);
            try {
                VerbsNative.destroyId(id);
            } catch (IOException e) {
                LOG.warn("a connection id stays: {}", e.toString());
            }
        }
        result.completeExceptionally(failure);
    }

    /** Gives up, if it is not established yet; it does not start any more then. */
    void abandon(Reason reason, String why) {
        if (!result.isDone()) {
            give(reason, why);
        }
    }
}
