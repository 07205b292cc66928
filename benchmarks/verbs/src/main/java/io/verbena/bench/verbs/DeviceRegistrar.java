package io.verbena.bench.verbs;

import io.verbena.guest.GuestHost;
import io.verbena.memory.BackingException;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.Segment;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.transport.verbs.Verbs;
import io.verbena.transport.verbs.VerbsDevices;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.verbs.VerbsUnavailableException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The product's registration on host A's device. It registers batches of up to 1024 MRs over memory that exists, and deregisters each
 * before the next, so small MRs are registered over the same memory again: warm, which favours them.
 */
final class DeviceRegistrar implements Registrar, AutoCloseable {
    private static final int BATCH = 1024;

    private final long totalBytes;
    private final String kind;
    private final VerbsDevices devices;

    /**
     * @param kind of backing of MRs that it can serve, as {@link BackingOptions#kind}; others get ordinary pages
     * @throws VerbsUnavailableException if there is no device
     */
    DeviceRegistrar(long totalBytes, String kind) throws VerbsUnavailableException {
        this.totalBytes = totalBytes;
        this.kind = kind;
        devices = Verbs.open(VerbsOptions.defaults(totalBytes).withInterfaces(List.of(GuestHost.A.deviceName())));
    }

    @Override
    public long totalBytes() {
        return totalBytes;
    }

    @Override
    public Duration register(long regionBytes) throws BackingException {
        long regions = totalBytes / regionBytes;
        int batch = (int) Math.min(regions, BATCH);
        boolean huge = regionBytes % (2 << 20) == 0;
        BackingOptions options =
                new BackingOptions(huge ? kind : "shm", Path.of("/dev/shm"), null, "bench", regionBytes);
        try (SegmentBacking backing = Backings.choose(options)) {
            List<Segment> segments = new ArrayList<>();
            for (int id = 0; id < batch; id++) {
                segments.add(backing.allocate(id, regionBytes));
            }
            long nanos = 0;
            for (long done = 0; done < regions; done += batch) {
                long startNs = System.nanoTime();
                List<MemoryRegion> made = devices.register(segments);
                nanos += System.nanoTime() - startNs;
                devices.deregister(made);
            }
            long failures = devices.verbsStatistics().registrationFailures();
            if (failures > 0) {
                throw new IllegalStateException("the device refused memory: failures=" + failures);
            }
            segments.forEach(backing::free);
            return Duration.ofNanos(nanos);
        }
    }

    @Override
    public void close() {
        devices.close();
    }
}
