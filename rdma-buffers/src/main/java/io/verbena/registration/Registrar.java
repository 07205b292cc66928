package io.verbena.registration;

import io.verbena.memory.Segment;
import java.util.List;

/** Registers segments for remote read. Threads: any. */
public interface Registrar {
    /**
     * Registers all or none.
     *
     * @return one region per segment, in order
     * @throws IllegalStateException if the device refuses; nothing of the batch is left registered
     */
    List<MemoryRegion> register(List<Segment> batch);

    /**
     * Makes the regions unreadable for peers; the memory may be freed afterwards.
     *
     * @throws IllegalStateException if a region is not live here
     */
    void deregister(List<MemoryRegion> regions);

    /** Returns a snapshot. */
    RegistrationStatistics statistics();
}
