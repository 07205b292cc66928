package io.verbena.registration;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.memory.Segment;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Registration without a device: keys and accounting as a device would give them, remote read only. The keys are random, so that
 * a peer cannot guess one it has not been told.
 *
 * <p>Threads: any; guarded by this.
 */
public final class SoftRegistrar implements Registrar {
    private static final Logger LOG = LoggerFactory.getLogger(SoftRegistrar.class);

    @GuardedBy("this")
    private final SecureRandom random = new SecureRandom();

    @GuardedBy("this")
    private final Map<Integer, MemoryRegion> live = new HashMap<>();

    @GuardedBy("this")
    private long registrations;

    @GuardedBy("this")
    private long deregistrations;

    @GuardedBy("this")
    private long registeredBytes;

    @GuardedBy("this")
    private long registrationTimeNs;

    @GuardedBy("this")
    private long batches;

    @Override
    public synchronized List<MemoryRegion> register(List<Segment> batch) {
        if (batch.isEmpty()) {
            return List.of();
        }
        long startNs = System.nanoTime();
        List<MemoryRegion> regions = new ArrayList<>(batch.size());
        for (Segment segment : batch) {
            int rkey = random.nextInt();
            while (rkey == 0 || live.containsKey(rkey)) {
                rkey = random.nextInt();
            }
            MemoryRegion region = new MemoryRegion(segment, random.nextInt(), rkey);
            live.put(rkey, region);
            registeredBytes += segment.length();
            regions.add(region);
        }
        registrations += regions.size();
        batches++;
        registrationTimeNs += System.nanoTime() - startNs;
        LOG.debug("registered regions={}, liveRegions={}", regions.size(), live.size());
        return List.copyOf(regions);
    }

    @Override
    public synchronized void deregister(List<MemoryRegion> regions) {
        for (MemoryRegion region : regions) {
            if (!live.remove(region.rkey(), region)) {
                throw new IllegalStateException("cannot deregister: rkey=0x" + Integer.toHexString(region.rkey())
                        + " is not live; " + region.segment());
            }
            deregistrations++;
            registeredBytes -= region.segment().length();
        }
    }

    @Override
    public synchronized RegistrationStatistics statistics() {
        return new RegistrationStatistics(
                registrations, deregistrations, live.size(), registeredBytes, registrationTimeNs, batches);
    }
}
