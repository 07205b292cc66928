package io.verbena.transport;

import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.transport.loopback.LoopbackTransport;
import io.verbena.transport.mapped.MappedTransport;
import java.util.List;
import java.util.function.Supplier;

class MappedThenLoopbackTest extends WaysContractTest {
    @Override
    List<Transport> parts(Supplier<List<MemoryRegion>> regions, SegmentBacking backing) {
        return List.of(new MappedTransport(regions, backing.ownerDirectory()), new LoopbackTransport(regions));
    }
}
