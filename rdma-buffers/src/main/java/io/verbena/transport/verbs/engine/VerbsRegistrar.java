package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.ibm.disni.verbs.IbvMr;
import io.verbena.memory.Segment;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import io.verbena.registration.RegistrationStatistics;
import io.verbena.registration.SoftRegistrar;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registers segments with every device: remote read for peers, local write so that this side's reads can land in them.
 *
 * <p>A region's own key stays a random number of this process, the same on all ways to it; each device's key of it is listed in
 * the descriptor. A segment that a device refuses has no key there.
 *
 * <p>Threads: any. Look-ups take no lock and make no garbage.
 */
final class VerbsRegistrar implements Registrar {
    private static final Logger LOG = LoggerFactory.getLogger(VerbsRegistrar.class);

    private static final int ACCESS = IbvMr.IBV_ACCESS_LOCAL_WRITE | IbvMr.IBV_ACCESS_REMOTE_READ;

    private final List<Device> devices;
    private final Counters counters;
    private final SoftRegistrar keys;

    /** By segment id, then device; null where nothing is registered. Ids are small and never reused. */
    private volatile IbvMr[][] regions = {};

    @GuardedBy("this")
    private long registrationTimeNs;

    @GuardedBy("this")
    private boolean refusalLogged;

    /** @param keys of everything that this process registers, so that no two are the same */
    VerbsRegistrar(List<Device> devices, SoftRegistrar keys, Counters counters) {
        this.devices = devices;
        this.keys = keys;
        this.counters = counters;
    }

    @Override
    public List<MemoryRegion> register(List<Segment> batch) {
        long startNs = System.nanoTime();
        List<IbvMr[]> made = new ArrayList<>(batch.size());
        boolean complete = false;
        try {
            for (Segment segment : batch) {
                IbvMr[] all = new IbvMr[devices.size()];
                made.add(all);
                for (int i = 0; i < all.length; i++) {
                    all[i] = registerWith(devices.get(i), segment);
                }
            }
            complete = true;
        } finally {
            if (!complete) {
                made.forEach(this::deregister);
            }
        }
        synchronized (this) {
            int length = batch.stream().mapToInt(Segment::id).max().orElse(-1) + 1;
            IbvMr[][] table = Arrays.copyOf(regions, Math.max(regions.length, length));
            for (int i = 0; i < batch.size(); i++) {
                table[batch.get(i).id()] = made.get(i);
            }
            regions = table;
            registrationTimeNs += System.nanoTime() - startNs;
        }
        return keys.register(batch);
    }

    private IbvMr registerWith(Device device, Segment segment) {
        if (!device.isUsable()) {
            return null;
        }
        try {
            return Registrations.register(device.pd(), segment.address(), Math.toIntExact(segment.length()), ACCESS);
        } catch (IOException e) {
            counters.registrationFailures.increment();
            logRefusal(device, segment, e);
            return null;
        }
    }

    private synchronized void logRefusal(Device device, Segment segment, IOException e) {
        if (refusalLogged) {
            LOG.debug("{} refuses {}: {}", device.name(), segment, e.getMessage());
            return;
        }
        refusalLogged = true;
        LOG.warn(
                "{} refuses to register memory, peers read it another way: {}; {}; registered so far: {}. {}",
                device.describe(),
                e.getMessage().strip(),
                segment,
                keys.statistics(),
                Limits.remedy(VerbsNative.memlockLimit(), VerbsNative.hasIpcLock()));
    }

    @Override
    public void deregister(List<MemoryRegion> gone) {
        // Throws before anything is given up if one is not live.
        keys.deregister(gone);
        List<IbvMr[]> all = new ArrayList<>();
        synchronized (this) {
            IbvMr[][] table = regions.clone();
            for (MemoryRegion region : gone) {
                int id = region.segment().id();
                all.add(table[id]);
                table[id] = null;
            }
            regions = table;
        }
        int held = 0;
        for (IbvMr[] row : all) {
            held += deregister(row);
        }
        if (held > 0) {
            throw new IllegalStateException("devices still hold memory that was to be freed: regions=" + held);
        }
    }

    /** Returns how many regions are still held. What a device held that is gone, it holds no more. */
    private int deregister(IbvMr[] row) {
        int held = 0;
        for (int i = 0; i < row.length; i++) {
            if (row[i] != null
                    && !Registrations.deregister(row[i])
                    && devices.get(i).isUsable()) {
                held++;
            }
        }
        return held;
    }

    /** Returns the region of a segment on the device at this place in the list, null if there is none. */
    IbvMr region(int segmentId, int device) {
        IbvMr[][] now = regions;
        IbvMr[] all = segmentId < now.length ? now[segmentId] : null;
        return all == null ? null : all[device];
    }

    @Override
    public RegistrationStatistics statistics() {
        RegistrationStatistics soft = keys.statistics();
        synchronized (this) {
            return new RegistrationStatistics(
                    soft.registrations(),
                    soft.deregistrations(),
                    soft.liveRegions(),
                    soft.registeredBytes(),
                    registrationTimeNs,
                    soft.batches());
        }
    }
}
