package io.verbena.registration;

import io.verbena.memory.Segment;
import java.util.List;

/** Registers mapped files: peers may read them, nothing may be written to them. Threads: any. */
public interface FileRegistrar {
    /**
     * Registers a mapping with every device that is usable, or with none.
     *
     * @throws RegistrationException if a device refuses or none is usable; nothing is left registered
     */
    MemoryRegion registerFile(Segment mapped) throws RegistrationException;

    /**
     * Makes the regions unreadable for peers; the mappings may be closed afterwards.
     *
     * @throws IllegalStateException if a region is not live here, or a device keeps one: then no mapping may be closed
     */
    void deregisterFiles(List<MemoryRegion> regions);

    /** Returns the system's page size: what a device pins is a multiple of it. */
    long pageBytes();

    /** Returns what registering costs on all devices together. */
    RegistrationCost registrationCost();
}
