package io.verbena.transport.verbs;

import io.verbena.registration.FileRegistrar;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import io.verbena.transport.Transport;
import java.util.List;
import java.util.function.Supplier;

/**
 * The RDMA devices of this process, opened: they register memory and carry one transport.
 *
 * <p>A segment that a device refuses to register is still a region, with a key for this host's other ways; peers of that device
 * read it another way. The first refusal is logged with its remedy, all are counted.
 *
 * <p>Ownership: close the transport, then deregister everything, then close this. Threads: any.
 */
public interface VerbsDevices extends Registrar, FileRegistrar, AutoCloseable {
    /**
     * Opens the transport; once.
     *
     * @param regions what is registered now; asked for every descriptor
     */
    Transport transport(Supplier<List<MemoryRegion>> regions);

    /** Returns a line for each device: name, port state, MTU, addresses, limits, cost of registration. */
    List<String> describe();

    /** Returns a snapshot. */
    VerbsStatistics verbsStatistics();

    /** Gives the devices back. */
    @Override
    void close();
}
