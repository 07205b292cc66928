package io.verbena.transport.loopback;

import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportContractTest;
import java.util.List;
import java.util.function.Supplier;

class LoopbackTransportTest extends TransportContractTest {
    @Override
    protected Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking backing) {
        return new LoopbackTransport(regions);
    }
}
