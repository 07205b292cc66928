package io.verbena.bench.verbs;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.guest.GuestHost;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.SegmentBacking;
import io.verbena.transport.Transport;
import io.verbena.transport.verbs.Verbs;
import io.verbena.transport.verbs.VerbsDevices;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.verbs.VerbsUnavailableException;
import java.nio.file.Path;
import java.util.List;

/** One host's memory and transport, put together as an executor does. Confined to one thread; the transport is for any. */
final class VerbsEndpoint implements AutoCloseable {
    /** Room for the reads in flight of one run. */
    static final int SEGMENT_BYTES = 64 << 20;

    private final VerbsDevices devices;
    private final SegmentBacking backing;
    private final Arena arena;
    private final Transport transport;

    VerbsEndpoint(GuestHost host) throws VerbsUnavailableException {
        devices = Verbs.open(VerbsOptions.defaults(SEGMENT_BYTES).withInterfaces(List.of(host.deviceName())));
        backing = Backings.choose(
                new BackingOptions("shm", Path.of("/dev/shm"), null, "bench-" + host.name(), SEGMENT_BYTES));
        arena = new Arena(new ArenaOptions(SEGMENT_BYTES, SEGMENT_BYTES, 1, false), backing, devices);
        transport = devices.transport(arena::regions);
    }

    Transport transport() {
        return transport;
    }

    /** Returns a lease; the caller releases it. */
    RegisteredBuffer acquire(long bytes) {
        RegisteredBuffer buffer = arena.tryAcquire(bytes);
        if (buffer == null) {
            throw new IllegalStateException("no memory: bytes=" + bytes + ", budgetBytes=" + SEGMENT_BYTES);
        }
        return buffer;
    }

    @Override
    public void close() {
        transport.close();
        arena.close();
        devices.close();
        backing.close();
    }
}
