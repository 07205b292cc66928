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
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The product's registration on host A's device, in batches of up to 1024 MRs, each deregistered before the next. Every MR has memory
 * of its own, which stays for all measurements: pages exist and are mapped, but are not those registered a moment ago.
 */
final class DeviceRegistrar implements Registrar, AutoCloseable {
    private static final int BATCH = 1024;
    private static final long HUGE_PAGE_BYTES = 2 << 20;

    private final long totalBytes;
    private final String kind;
    private final VerbsDevices devices;
    private final List<SegmentBacking> backings = new ArrayList<>();
    private final Map<Long, List<Segment>> memory = new HashMap<>();
    private int nextId;

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
        List<Segment> segments = memory.get(regionBytes);
        if (segments == null) {
            segments = allocate(regionBytes);
            memory.put(regionBytes, segments);
        }
        long nanos = 0;
        for (int done = 0; done < segments.size(); done += BATCH) {
            List<Segment> batch = segments.subList(done, Math.min(segments.size(), done + BATCH));
            long startNs = System.nanoTime();
            List<MemoryRegion> made = devices.register(batch);
            nanos += System.nanoTime() - startNs;
            devices.deregister(made);
        }
        long failures = devices.verbsStatistics().registrationFailures();
        if (failures > 0) {
            throw new IllegalStateException("the device refused memory: failures=" + failures);
        }
        return Duration.ofNanos(nanos);
    }

    private List<Segment> allocate(long regionBytes) throws BackingException {
        String name = regionBytes % HUGE_PAGE_BYTES == 0 ? kind : "shm";
        SegmentBacking backing = Backings.choose(
                new BackingOptions(name, Path.of("/dev/shm"), null, "bench-" + regionBytes, regionBytes));
        backings.add(backing);
        List<Segment> segments = new ArrayList<>();
        for (long done = 0; done < totalBytes; done += regionBytes) {
            segments.add(backing.allocate(nextId++, regionBytes));
        }
        return segments;
    }

    @Override
    public void close() {
        devices.close();
        backings.forEach(SegmentBacking::close);
    }
}
