package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvMr;
import io.verbena.memory.Segment;
import io.verbena.registration.FileRegistrar;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.RegistrationCost;
import io.verbena.registration.RegistrationException;
import io.verbena.registration.SoftRegistrar;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Registers mapped files with every device, for remote read only: local write would have the kernel ask for writable pages. */
final class VerbsFileRegistrar implements FileRegistrar {
    /** Length of the array of {@link VerbsNative#registerMemory}: handle, lkey, rkey. */
    static final int MR_VALUES = 3;

    private static final String BAD_ADDRESS = "EFAULT";

    private final List<Device> devices;
    private final Counters counters;
    private final SoftRegistrar keys;

    /** By segment id; what the native call returned, for each device, null where the device is gone. */
    private final Map<Integer, long[][]> registered = new ConcurrentHashMap<>();

    /** @param keys of everything that this process registers, so that no two are the same */
    VerbsFileRegistrar(List<Device> devices, SoftRegistrar keys, Counters counters) {
        this.devices = devices;
        this.keys = keys;
        this.counters = counters;
    }

    @Override
    public MemoryRegion registerFile(Segment mapped) throws RegistrationException {
        long[][] all = new long[devices.size()][];
        boolean complete = false;
        try {
            boolean any = false;
            for (int i = 0; i < all.length; i++) {
                if (devices.get(i).isUsable()) {
                    all[i] = register(devices.get(i), mapped);
                    any = true;
                }
            }
            if (!any) {
                throw new RegistrationException("no RDMA device is left to register a mapped file with: " + mapped);
            }
            complete = true;
        } finally {
            if (!complete) {
                deregister(all);
            }
        }
        registered.put(mapped.id(), all);
        return keys.register(List.of(mapped)).get(0);
    }

    private long[] register(Device device, Segment mapped) throws RegistrationException {
        long[] mr = new long[MR_VALUES];
        try {
            VerbsNative.registerMemory(
                    device.pdHandle(), mapped.address(), mapped.length(), IbvMr.IBV_ACCESS_REMOTE_READ, mr);
            return mr;
        } catch (IOException e) {
            boolean badAddress = e.getMessage().contains(BAD_ADDRESS);
            if (!badAddress) {
                counters.registrationFailures.increment();
            }
            throw new RegistrationException(
                    device.name() + " refuses a mapped file: " + e.getMessage().strip() + "; " + mapped
                            + (badAddress
                                    ? ""
                                    : "; " + Limits.remedy(VerbsNative.memlockLimit(), VerbsNative.hasIpcLock())),
                    badAddress,
                    e);
        }
    }

    @Override
    public void deregisterFiles(List<MemoryRegion> regions) {
        // Throws before anything is given up if one is not live.
        keys.deregister(regions);
        List<String> kept = new ArrayList<>();
        for (MemoryRegion region : regions) {
            kept.addAll(deregister(registered.remove(region.segment().id())));
        }
        if (!kept.isEmpty()) {
            throw new IllegalStateException("devices still hold mapped files: " + kept);
        }
    }

    private static List<String> deregister(long[][] all) {
        List<String> problems = new ArrayList<>();
        for (long[] mr : all) {
            if (mr != null) {
                try {
                    VerbsNative.deregisterMemory(mr[0]);
                } catch (IOException e) {
                    problems.add(e.getMessage().strip());
                }
            }
        }
        return problems;
    }

    /** Returns the key of a mapped file on the device at this place in the list, 0 if there is none. */
    int deviceKey(int segmentId, int device) {
        long[][] all = registered.get(segmentId);
        return all == null || all[device] == null ? 0 : (int) all[device][2];
    }

    @Override
    public long pageBytes() {
        return VerbsNative.pageSize();
    }

    @Override
    public RegistrationCost registrationCost() {
        return devices.stream()
                .map(Device::registrationCost)
                .reduce(RegistrationCost::and)
                .orElseThrow();
    }
}
