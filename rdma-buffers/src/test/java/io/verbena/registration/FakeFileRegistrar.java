package io.verbena.registration;

import io.verbena.memory.Segment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** Registers mapped files without a device, and keeps account of the calls. Threads: any. */
public final class FakeFileRegistrar implements FileRegistrar {
    private final SoftRegistrar keys = new SoftRegistrar();
    private final List<Integer> batches = new ArrayList<>();
    private Predicate<Segment> badAddress = mapped -> false;
    private boolean refusing;
    private boolean keeping;
    private int asked;

    /** Decides which mappings the kernel does not pin. */
    public synchronized void badAddress(Predicate<Segment> condition) {
        badAddress = condition;
    }

    /** Has the device refuse everything, as it does above its limits. */
    public synchronized void refusing(boolean on) {
        refusing = on;
    }

    /** Has the device keep everything. */
    public synchronized void keeping(boolean on) {
        keeping = on;
    }

    /** How often registration was asked for. */
    public synchronized int asked() {
        return asked;
    }

    /** Sizes of the batches that were deregistered. */
    public synchronized List<Integer> batches() {
        return List.copyOf(batches);
    }

    /** How many are registered. */
    public long live() {
        return keys.statistics().liveRegions();
    }

    @Override
    public synchronized MemoryRegion registerFile(Segment mapped) throws RegistrationException {
        asked++;
        if (refusing) {
            throw new RegistrationException("the limit on locked memory is reached");
        }
        if (badAddress.test(mapped)) {
            throw new RegistrationException("Bad address", true, null);
        }
        return keys.register(List.of(mapped)).get(0);
    }

    @Override
    public synchronized void deregisterFiles(List<MemoryRegion> regions) {
        if (keeping) {
            throw new IllegalStateException("the device keeps them");
        }
        keys.deregister(regions);
        batches.add(regions.size());
    }

    @Override
    public long pageBytes() {
        return 4096;
    }

    @Override
    public RegistrationCost registrationCost() {
        return new RegistrationCost(1000, 10, 100);
    }
}
