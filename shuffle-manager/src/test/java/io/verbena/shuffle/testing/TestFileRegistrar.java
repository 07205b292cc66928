package io.verbena.shuffle.testing;

import io.verbena.memory.Segment;
import io.verbena.registration.FileRegistrar;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.RegistrationCost;
import io.verbena.registration.SoftRegistrar;
import java.util.List;

/** Registers mapped files without a device. Threads: any. */
final class TestFileRegistrar implements FileRegistrar {
    static final long PAGE_BYTES = 4096;

    private final SoftRegistrar keys = new SoftRegistrar();

    @Override
    public MemoryRegion registerFile(Segment mapped) {
        return keys.register(List.of(mapped)).get(0);
    }

    @Override
    public void deregisterFiles(List<MemoryRegion> regions) {
        keys.deregister(regions);
    }

    @Override
    public long pageBytes() {
        return PAGE_BYTES;
    }

    @Override
    public RegistrationCost registrationCost() {
        return new RegistrationCost(0, 0, 1);
    }
}
