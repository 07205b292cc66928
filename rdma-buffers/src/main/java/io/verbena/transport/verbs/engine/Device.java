package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.impl.NatIbvCompChannel;
import com.ibm.disni.verbs.impl.NatIbvContext;
import com.ibm.disni.verbs.impl.NatIbvPd;
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

    /**
     * Opens the device.
     *
     * @param anchor bound to an address of the device, for this object alone; closed by it
     */
    Device(Listener anchor, VerbsOptions options, Counters counters) throws IOException {
        IbvContext verbs = anchor.id().getVerbs();
        this.anchor = anchor;
        this.counters = counters;
        this.context = ((NatIbvContext) verbs).getObjId();
        this.name = VerbsNative.deviceName(context);
        VerbsNative.queryDevice(context, limits);
        VerbsNative.queryPort(context, anchor.portNumber(), port);
        // Cards have a parent in the device tree; rxe and siw have none.
        this.software = !Files.exists(Path.of("/sys/class/infiniband", name, "device"));
        this.pd = verbs.allocPd();
        if (pd == null) {
            throw new IOException(name + " gives no protection domain");
        }
        this.channel = verbs.createCompChannel();
        if (channel == null) {
            throw new IOException(name + " gives no completion channel");
        }
        this.completionQueues = new CqPool(verbs, channel, limits[VerbsNative.DEVICE_MAX_CQE]);
        this.controlSlab = new ControlSlab(pd);
        this.progress = new ProgressLoop(this, software ? 0 : options.spinNanos());
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

    int completionFd() throws IOException {
        return VerbsNative.compFd(completionChannel());
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

    List<InetSocketAddress> addresses() {
        return addresses;
    }

    /** False once the system has taken the device away. */
    boolean isUsable() {
        return !gone;
    }

    /** CM thread. */
    void removed() {
        if (!gone) {
            gone = true;
            LOG.warn("RDMA device {} is gone: its connections end, peers are read another way", name);
            breakAll("the device was removed");
        }
    }

    private void breakAll(String why) {
        for (Link link : links.all()) {
            link.breakOff(new TransportException(Reason.PEER_GONE, why + "; " + link));
        }
    }

    /** CM thread: what happened to the device, outside of any work request. */
    void asyncEvents() throws IOException {
        long[] event = new long[2];
        while (VerbsNative.nextAsyncEvent(context, event)) {
            int type = (int) event[0];
            if (type == DEVICE_FATAL) {
                removed();
            } else if (type == CQ_ERROR) {
                LOG.error("completion queue of {} is broken: all its connections end", name);
                breakAll("the completion queue is broken");
            } else if (type >= QP_FATAL && type <= QP_ACCESS_ERROR) {
                breakQp(event[1], type);
            } else if (type == PORT_ACTIVE || type == PORT_ERROR) {
                LOG.warn("port {} of {} is {}", event[1], name, type == PORT_ACTIVE ? "active again" : "down");
            } else {
                LOG.debug("asynchronous event of {}: type={}", name, type);
            }
        }
    }

    private void breakQp(long qp, int type) {
        for (Link link : links.all()) {
            if (link.isQp(qp)) {
                link.breakOff(new TransportException(
                        Reason.PEER_GONE, "the device reports a broken queue pair: event=" + type + "; " + link));
            }
        }
    }

    String describe() {
        return name + (software ? " (software)" : "") + ": port="
                + (port[VerbsNative.PORT_STATE] == VerbsNative.PORT_STATE_ACTIVE ? "active" : "down") + ", mtu="
                + port[VerbsNative.PORT_ACTIVE_MTU] + ", addresses="
                + addresses.stream().map(a -> a.getAddress().getHostAddress()).toList() + ", maxRegions="
                + maxRegions() + ", maxRegionBytes=" + maxRegionBytes() + ", readDepth=" + initiatorDepth() + "/"
                + responderResources();
    }

    /** Ends the progress thread and gives everything back; links and regions are gone. */
    @Override
    public void close() {
        progress.close();
        controlSlab.close();
        completionQueues.close();
        try {
            report("completion channel", channel.destroyCompChannel());
            report("protection domain", pd.deallocPd());
        } catch (Exception e) {
            LOG.warn("{} was not given back whole: {}", name, e.toString());
        }
        anchor.close();
    }

    private void report(String what, int errno) {
        if (errno != 0) {
            LOG.warn("{} of {} stays: errno={}", what, name, errno);
        }
    }
}
