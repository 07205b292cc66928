package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvMr;
import io.verbena.memory.Segment;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.RegistrationCost;
import io.verbena.registration.RegistrationException;
import io.verbena.registration.RegistrationStatistics;
import io.verbena.registration.SoftRegistrar;
import io.verbena.transport.Transport;
import io.verbena.transport.verbs.VerbsDevices;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.transport.verbs.VerbsStatistics;
import io.verbena.transport.verbs.engine.LocalAddresses.LocalAddress;
import io.verbena.verbs.VerbsUnavailableException;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All devices of this process and what they share.
 *
 * <p>Opening finds the devices by binding to each local address, which works for InfiniBand and RoCE alike and picks port and GID
 * with it. Two engines of one process share a device's context but nothing else. Threads: any, {@link #close} once.
 */
public final class Engine implements VerbsDevices {
    private static final Logger LOG = LoggerFactory.getLogger(Engine.class);

    private final VerbsOptions options;
    private final Counters counters = new Counters();
    private final CmLoop cm;
    private final List<Listener> listeners = new ArrayList<>();
    private final List<Device> devices = new ArrayList<>();
    private final List<LocalAddress> addresses = new ArrayList<>();
    private final VerbsRegistrar registrar;
    private final VerbsFileRegistrar fileRegistrar;
    private final Routes routes;
    private VerbsTransport transport;

    /**
     * Opens the devices.
     *
     * @throws VerbsUnavailableException with the reason and its remedy if there is none to use
     */
    public Engine(VerbsOptions options) throws VerbsUnavailableException {
        this.options = options;
        cm = openCm();
        boolean opened = false;
        try {
            findDevices();
            checkLimits();
            for (Device device : devices) {
                device.measureRegistration();
            }
            SoftRegistrar keys = new SoftRegistrar();
            registrar = new VerbsRegistrar(devices, keys, counters);
            fileRegistrar = new VerbsFileRegistrar(devices, keys, counters);
            routes = new Routes(addresses);
            for (Device device : devices) {
                cm.watch(device);
                device.progress().start();
            }
            cm.start();
            opened = true;
        } catch (IOException e) {
            throw new VerbsUnavailableException("RDMA devices cannot be opened: " + e.getMessage(), e);
        } finally {
            if (!opened) {
                listeners.forEach(Listener::close);
                devices.forEach(Device::close);
                cm.close();
            }
        }
    }

    private static CmLoop openCm() throws VerbsUnavailableException {
        if (VerbsNative.sendWrBytes() != VerbsNative.SEND_WR_BYTES
                || VerbsNative.recvWrBytes() != VerbsNative.RECV_WR_BYTES
                || VerbsNative.sgeBytes() != VerbsNative.SGE_BYTES) {
            throw new VerbsUnavailableException("work requests have another layout on this platform");
        }
        try {
            return new CmLoop();
        } catch (IOException e) {
            throw new VerbsUnavailableException(
                    "no RDMA connection manager: " + e.getMessage().strip()
                            + "; the kernel module rdma_ucm must be loaded and /dev/infiniband visible to this process",
                    e);
        }
    }

    private void findDevices() throws IOException, VerbsUnavailableException {
        Set<String> unmatched = new HashSet<>(options.interfaces());
        List<LocalAddress> all = LocalAddresses.all();
        List<String> problems = new ArrayList<>();
        for (LocalAddress local : all) {
            Listener listener = null;
            try {
                listener = Listener.bind(cm, local.address(), options.port());
            } catch (IOException e) {
                problems.add(e.getMessage().strip());
            }
            if (listener != null) {
                use(local, listener, unmatched, problems);
            }
        }
        if (!unmatched.isEmpty()) {
            throw new VerbsUnavailableException("spark.shuffle.rdma.verbs.interfaces names what is not there: "
                    + unmatched + "; " + whatIsThere(all));
        }
        if (devices.isEmpty()) {
            throw new VerbsUnavailableException("no RDMA device has an address that is up; " + whatIsThere(all)
                    + (problems.isEmpty() ? "" : ", problems=" + problems));
        }
    }

    /** Keeps the listener and opens its device, or closes it; a device that cannot be opened leaves the others alone. */
    private void use(LocalAddress local, Listener listener, Set<String> unmatched, List<String> problems) {
        boolean kept = false;
        try {
            if (isChosen(local, listener, unmatched)) {
                listener.on(deviceFor(listener));
                listeners.add(listener);
                addresses.add(local);
                kept = true;
            }
        } catch (IOException e) {
            problems.add(e.getMessage().strip());
        } finally {
            if (!kept) {
                listener.close();
            }
        }
    }

    private boolean isChosen(LocalAddress local, Listener listener, Set<String> unmatched) throws IOException {
        if (options.interfaces().isEmpty()) {
            return true;
        }
        boolean chosen = false;
        for (String text : options.interfaces()) {
            if (LocalAddresses.matches(text, local) || text.equals(VerbsNative.deviceName(listener.contextHandle()))) {
                unmatched.remove(text);
                chosen = true;
            }
        }
        return chosen;
    }

    private static String whatIsThere(List<LocalAddress> all) throws IOException {
        return "devices=" + Arrays.toString(VerbsNative.deviceNames()) + ", addresses="
                + all.stream()
                        .map(a -> a.interfaceName() + "/" + a.address().getHostAddress())
                        .toList();
    }

    private Device deviceFor(Listener listener) throws IOException {
        Device known = deviceOf(listener.contextHandle());
        if (known != null) {
            return known;
        }
        Listener anchor = Listener.bind(cm, listener.address().getAddress(), 0);
        if (anchor == null) {
            throw new IOException("the device of " + listener.address() + " has just gone");
        }
        Device device = new Device(anchor, options, counters);
        devices.add(device);
        return device;
    }

    private void checkLimits() throws VerbsUnavailableException {
        CgroupLimits.tighterThan(options.memoryBytes()).forEach(limit -> LOG.warn("registering may fail: {}", limit));
        for (Device device : devices) {
            String problem = Limits.problem(options.memoryBytes(), device);
            if (problem != null) {
                throw new VerbsUnavailableException("device " + device.name() + " cannot be used: " + problem);
            }
        }
    }

    /** Returns the device with this context, null if it is not used. */
    Device deviceOf(long context) {
        for (Device device : devices) {
            if (device.context() == context) {
                return device;
            }
        }
        return null;
    }

    VerbsOptions options() {
        return options;
    }

    CmLoop cm() {
        return cm;
    }

    List<Listener> listeners() {
        return listeners;
    }

    List<Device> devices() {
        return devices;
    }

    VerbsRegistrar registrar() {
        return registrar;
    }

    /** Returns a device's key of a segment or mapped file, 0 if it is not registered there. */
    int deviceKey(int segmentId, int device) {
        if (segmentId < 0) {
            return fileRegistrar.deviceKey(segmentId, device);
        }
        IbvMr mr = registrar.region(segmentId, device);
        return mr == null ? 0 : mr.getRkey();
    }

    Routes routes() {
        return routes;
    }

    @Override
    public synchronized Transport transport(Supplier<List<MemoryRegion>> regions) {
        if (transport != null) {
            throw new IllegalStateException("the transport is open already");
        }
        transport = new VerbsTransport(this, regions);
        transport.open();
        return transport;
    }

    @Override
    public List<MemoryRegion> register(List<Segment> batch) {
        return registrar.register(batch);
    }

    @Override
    public void deregister(List<MemoryRegion> regions) {
        registrar.deregister(regions);
    }

    @Override
    public MemoryRegion registerFile(Segment mapped) throws RegistrationException {
        return fileRegistrar.registerFile(mapped);
    }

    @Override
    public void deregisterFiles(List<MemoryRegion> regions) {
        fileRegistrar.deregisterFiles(regions);
    }

    @Override
    public long pageBytes() {
        return fileRegistrar.pageBytes();
    }

    @Override
    public RegistrationCost registrationCost() {
        return fileRegistrar.registrationCost();
    }

    @Override
    public RegistrationStatistics statistics() {
        return registrar.statistics();
    }

    @Override
    public List<String> describe() {
        return devices.stream().map(Device::describe).toList();
    }

    @Override
    public VerbsStatistics verbsStatistics() {
        return counters.snapshot();
    }

    @Override
    public synchronized void close() {
        if (transport != null) {
            transport.close();
        } else {
            listeners.forEach(Listener::close);
        }
        // From here on no event of a device is looked for, so the devices may go; then the channel of their ids.
        cm.stop();
        devices.forEach(Device::close);
        cm.close();
    }
}
