package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.impl.NatIbvCompChannel;
import com.ibm.disni.verbs.impl.NatIbvContext;
import com.ibm.disni.verbs.impl.NatIbvPd;
import io.verbena.registration.RegistrationCost;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One RDMA device: protection domain, completion queues, progress thread, connections.
 *
 * <p>Ownership: owned by the {@link Engine}; the context belongs to librdmacm, which keeps it as long as an id is bound to it:
 * the anchor is there for that. Threads: parts say their own.
 */
final class Device implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Device.class);

    /** {@code enum ibv_event_type}. */
    private static final int CQ_ERROR = 0;

    /** Beginning of node_type in sysfs: RNIC. */
    private static final String IWARP_CARD = "4:";

    private static final int QP_FATAL = 1;
    private static final int QP_ACCESS_ERROR = 3;
    private static final int DEVICE_FATAL = 8;
    private static final int PORT_ACTIVE = 9;
    private static final int PORT_ERROR = 10;

    private final String name;
    private final Listener anchor;
    private final long context;
    private final IbvPd pd;
    private final IbvCompChannel channel;
    private final CqPool completionQueues;
    private final ControlSlab controlSlab;
    private final LinkTable links = new LinkTable();
    private final Counters counters;
    private final long[] limits = new long[VerbsNative.DEVICE_VALUES];
    private final long[] port = new long[VerbsNative.PORT_VALUES];
    private final List<InetSocketAddress> addresses = new ArrayList<>();
    private final boolean software;
    private final ProgressLoop progress;
    private volatile boolean gone;
    private volatile RegistrationCost registrationCost;

    /**
     * Opens the device.
     *
     * @param anchor bound to an address of the device, for this object alone; closed by it, even if this throws
     */
    Device(Listener anchor, VerbsOptions options, Counters counters) throws IOException {
        this.anchor = anchor;
        this.counters = counters;
        boolean opened = false;
        IbvPd domain = null;
        IbvCompChannel events = null;
        try {
            IbvContext verbs = anchor.id().getVerbs();
            context = ((NatIbvContext) verbs).getObjId();
            name = VerbsNative.deviceName(context);
            VerbsNative.queryDevice(context, limits);
            VerbsNative.queryPort(context, anchor.portNumber(), port);
            Path sysfs = Path.of("/sys/class/infiniband", name);
            // Cards have a parent in the device tree; rxe and siw have none.
            software = !Files.exists(sysfs.resolve("device"));
            requireRemoteReadOnly(sysfs);
            domain = verbs.allocPd();
            if (domain == null) {
                throw new IOException(name + " gives no protection domain");
            }
            events = verbs.createCompChannel();
            if (events == null) {
                throw new IOException(name + " gives no completion channel");
            }
            pd = domain;
            channel = events;
            completionQueues = new CqPool(verbs, channel, limits[VerbsNative.DEVICE_MAX_CQE]);
            controlSlab = new ControlSlab(pd);
            int completionFd = VerbsNative.compFd(((NatIbvCompChannel) channel).getObjId());
            progress = new ProgressLoop(this, completionFd, software ? 0 : options.spinNanos());
            opened = true;
        } finally {
            if (!opened) {
                giveBack(events, domain);
                anchor.close();
            }
        }
    }

    /** An iWARP card writes read responses as remote writes, so memory that is read into would have to be open to peers' writes. */
    private void requireRemoteReadOnly(Path sysfs) throws IOException {
        Path type = sysfs.resolve("node_type");
        if (!software && Files.isReadable(type) && Files.readString(type).startsWith(IWARP_CARD)) {
            throw new IOException(name + " is an iWARP card, which needs memory that peers may write: not used");
        }
    }

    String name() {
        return name;
    }

    long context() {
        return context;
    }

    IbvPd pd() {
        return pd;
    }

    long pdHandle() {
        return ((NatIbvPd) pd).getObjId();
    }

    CqPool completionQueues() {
        return completionQueues;
    }

    ControlSlab controlSlab() {
        return controlSlab;
    }

    LinkTable links() {
        return links;
    }

    ProgressLoop progress() {
        return progress;
    }

    Counters counters() {
        return counters;
    }

    long completionChannel() {
        return ((NatIbvCompChannel) channel).getObjId();
    }

    int asyncFd() throws IOException {
        return VerbsNative.asyncFd(context);
    }

    long maxWorkRequests() {
        return limits[VerbsNative.DEVICE_MAX_QP_WR];
    }

    long maxMessageBytes() {
        return port[VerbsNative.PORT_MAX_MSG_SIZE];
    }

    long maxRegionBytes() {
        return limits[VerbsNative.DEVICE_MAX_MR_SIZE];
    }

    long maxRegions() {
        return limits[VerbsNative.DEVICE_MAX_MR];
    }

    /** Reads that this device may start on one connection; the CM has 8 bits for it. */
    int initiatorDepth() {
        return (int) Math.min(255, limits[VerbsNative.DEVICE_MAX_QP_INIT_RD_ATOM]);
    }

    /** Reads that this device answers at a time on one connection. */
    int responderResources() {
        return (int) Math.min(255, limits[VerbsNative.DEVICE_MAX_QP_RD_ATOM]);
    }

    /** Measures what registration costs; once, before the device is used. Not at once: limits are checked first. */
    void measureRegistration() {
        try {
            registrationCost = RegistrationProbe.measure(pdHandle());
        } catch (IOException e) {
            LOG.warn("what registration costs on {} is not known, files are not registered: {}", name, e.getMessage());
            registrationCost = RegistrationCost.UNKNOWN;
        }
    }

    RegistrationCost registrationCost() {
        return registrationCost;
    }

    List<InetSocketAddress> addresses() {
        return addresses;
    }

    /** False once the system has taken the device away. */
    boolean isUsable() {
        return !gone;
    }

    /** Any thread: the system has taken the device away. */
    void removed() {
        if (!gone) {
            gone = true;
            LOG.warn("RDMA device {} is gone: its connections end, peers are read another way", name);
            breakIf(link -> true, "the device was removed");
        }
    }

    /** Any thread: a completion queue cannot be used any more, and with it its connections. */
    void queueFailed(long queue, String why) {
        if (completionQueues.retire(queue)) {
            LOG.error("a completion queue of {} is broken, its connections end: {}", name, why);
            breakIf(link -> link.usesQueue(queue), "the completion queue is broken: " + why);
        }
    }

    private void breakIf(Predicate<Link> condition, String why) {
        for (Link link : links.all()) {
            if (condition.test(link)) {
                link.breakOff(new TransportException(Reason.PEER_GONE, why + "; " + link));
            }
        }
    }

    /** CM thread: what happened to the device, outside of any work request; returns false if there is nothing to hear any more. */
    boolean asyncEvents() {
        try {
            long[] event = new long[2];
            while (VerbsNative.nextAsyncEvent(context, event)) {
                asyncEvent(event);
            }
            return true;
        } catch (IOException e) {
            LOG.debug("no more events of {}: {}", name, e.toString());
            removed();
            return false;
        }
    }

    /** Another engine of this process may share the context: an event that is about nothing of this one is the other's. */
    private void asyncEvent(long[] event) {
        int type = (int) event[0];
        if (type == DEVICE_FATAL) {
            removed();
        } else if (type == CQ_ERROR) {
            queueFailed(event[1], "reported by the device");
        } else if (type >= QP_FATAL && type <= QP_ACCESS_ERROR) {
            breakIf(link -> link.isQp(event[1]), "the device reports a broken queue pair: event=" + type);
        } else if (type == PORT_ACTIVE || type == PORT_ERROR) {
            LOG.warn("port {} of {} is {}", event[1], name, type == PORT_ACTIVE ? "active again" : "down");
        } else {
            LOG.debug("asynchronous event of {}: type={}", name, type);
        }
    }

    String describe() {
        return name + (software ? " (software)" : "") + ": port="
                + (port[VerbsNative.PORT_STATE] == VerbsNative.PORT_STATE_ACTIVE ? "active" : "down") + ", mtu="
                + port[VerbsNative.PORT_ACTIVE_MTU] + ", addresses="
                + addresses.stream().map(a -> a.getAddress().getHostAddress()).toList() + ", maxRegions="
                + maxRegions() + ", maxRegionBytes=" + maxRegionBytes() + ", readDepth=" + initiatorDepth() + "/"
                + responderResources() + ", registration=" + registrationCost;
    }

    /** Ends the progress thread and gives everything back; links and regions are gone. */
    @Override
    public void close() {
        if (!progress.close()) {
            return;
        }
        controlSlab.close();
        completionQueues.close();
        giveBack(channel, pd);
        anchor.close();
    }

    private static void giveBack(IbvCompChannel events, IbvPd domain) {
        try {
            if (events != null) {
                report("completion channel", events.destroyCompChannel());
            }
            if (domain != null) {
                report("protection domain", domain.deallocPd());
            }
        } catch (Exception e) {
            LOG.warn("a device was not given back whole: {}", e.toString());
        }
    }

    private static void report(String what, int errno) {
        if (errno != 0) {
            LOG.warn("{} stays: errno={}", what, errno);
        }
    }
}
