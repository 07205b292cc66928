package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.impl.NatCmaIdPrivate;
import io.verbena.transport.LeaseCounts;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts connections on one local address. It is bound when the devices are looked for, which tells the address's device, and
 * listens once the transport opens.
 *
 * <p>Threads: events on the CM thread; the rest before it starts or on it.
 */
final class Listener implements CmHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Listener.class);

    private static final int BACKLOG = 128;
    private static final int RNR_RETRIES = 3;

    /** How many ports after the first are tried. */
    private static final int PORTS = 16;

    private final RdmaCmId id;
    private final InetSocketAddress address;
    private Device device;
    private CmLoop cm;
    private UUID token;
    private LeaseCounts leases;
    private long leaseTimeoutNs;
    private boolean closed;

    private Listener(RdmaCmId id, InetSocketAddress address) {
        this.id = id;
        this.address = address;
    }

    /**
     * Binds to an address.
     *
     * @param firstPort 0 for any
     * @return null if the address has no RDMA device
     * @throws IOException if the ports are taken or the address cannot be bound
     */
    static Listener bind(CmLoop cm, InetAddress local, int firstPort) throws IOException {
        IOException last = null;
        for (int port = firstPort; port < firstPort + (firstPort == 0 ? 1 : PORTS); port++) {
            RdmaCmId id = cm.channel().createId(com.ibm.disni.verbs.RdmaCm.RDMA_PS_TCP);
            if (id == null) {
                throw new IOException("no connection id");
            }
            boolean kept = false;
            try {
                VerbsNative.bindAddress(handle(id), local.getAddress(), 0, port);
                if (VerbsNative.context(handle(id)) == 0) {
                    return null;
                }
                kept = true;
                return new Listener(id, new InetSocketAddress(local, VerbsNative.localPort(handle(id))));
            } catch (IOException e) {
                last = new IOException("cannot bind " + local.getHostAddress() + ":" + port + ": " + e.getMessage(), e);
            } finally {
                if (!kept) {
                    id.destroyId();
                }
            }
        }
        throw last;
    }

    private static long handle(RdmaCmId id) {
        return ((NatCmaIdPrivate) id).getObjId();
    }

    RdmaCmId id() {
        return id;
    }

    long contextHandle() {
        return VerbsNative.context(handle(id));
    }

    int portNumber() {
        return VerbsNative.port(handle(id));
    }

    InetSocketAddress address() {
        return address;
    }

    Device device() {
        return device;
    }

    void on(Device owner) {
        device = owner;
        owner.addresses().add(address);
    }

    /** CM thread: begins to accept. */
    void listen(CmLoop loop, UUID ownToken, LeaseCounts ownLeases, long timeoutNs) throws IOException {
        cm = loop;
        token = ownToken;
        leases = ownLeases;
        leaseTimeoutNs = timeoutNs;
        cm.register(handle(id), this);
        VerbsNative.listen(handle(id), BACKLOG);
    }

    @Override
    public void onEvent(CmEvent event) {
        if (event.type() == CmEvent.CONNECT_REQUEST) {
            accept(event);
        } else if (event.type() == CmEvent.DEVICE_REMOVAL) {
            device.removed();
            close();
        } else {
            LOG.debug("ignored by the listener on {}: {}", address, event);
        }
    }

    private void accept(CmEvent request) {
        Hello.Refusal refusal = closed ? Hello.Refusal.CAPACITY : Hello.check(request.privateData(), token);
        if (refusal != null) {
            refuse(request.id(), refusal, "hello");
            return;
        }
        ServingLink link = null;
        try {
            link = newLink(request.id());
            cm.register(request.id(), link);
            link.createQp();
            VerbsNative.accept(
                    request.id(),
                    Hello.answer(token, (int) (leaseTimeoutNs / 1_000_000)),
                    RNR_RETRIES,
                    Math.min(request.initiatorDepth(), device.initiatorDepth()),
                    Math.min(request.responderResources(), device.responderResources()));
            device.progress().wake();
        } catch (IOException | RuntimeException | Error e) {
            if (link == null) {
                refuse(request.id(), Hello.Refusal.CAPACITY, e.toString());
            } else {
                device.counters().rejects.increment();
                reject(request.id(), Hello.Refusal.CAPACITY);
                link.breakOff(new TransportException(Reason.NOT_REACHABLE, "cannot accept: " + e, e));
            }
        }
    }

    private ServingLink newLink(long request) throws IOException {
        ControlBlock control = device.controlSlab().take();
        boolean taken = false;
        try {
            ServingLink link = device.links()
                    .add(number -> new ServingLink(device, cm, number, request, control, leases, leaseTimeoutNs));
            taken = true;
            return link;
        } finally {
            if (!taken) {
                device.controlSlab().giveBack(control);
            }
        }
    }

    private void refuse(long request, Hello.Refusal refusal, String why) {
        device.counters().rejects.increment();
        LOG.warn("a connect request on {} is refused: {}: {}", address, refusal, why);
        reject(request, refusal);
        try {
            VerbsNative.destroyId(request);
        } catch (IOException e) {
            LOG.warn("a connection id stays: {}", e.toString());
        }
    }

    private static void reject(long request, Hello.Refusal refusal) {
        try {
            VerbsNative.reject(request, Hello.refusal(refusal));
        } catch (IOException e) {
            LOG.debug("the refusal was not sent: {}", e.toString());
        }
    }

    /** CM thread, or before it starts. */
    void close() {
        if (!closed) {
            closed = true;
            if (cm != null) {
                cm.forget(handle(id));
            }
            try {
                id.destroyId();
            } catch (IOException e) {
                LOG.warn("the listener on {} stays: {}", address, e.toString());
            }
        }
    }
}
