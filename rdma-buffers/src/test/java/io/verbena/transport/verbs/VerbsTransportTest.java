package io.verbena.transport.verbs;

import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportContractTest;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;

/** The contract over a real verbs stack: runs where there is an RDMA device, which in CI is the Soft-RoCE guest. */
@Tag("guest")
class VerbsTransportTest extends TransportContractTest {
    private VerbsDevices latest;

    @Override
    protected Registrar registrar() throws Exception {
        latest = Verbs.open(VerbsOptions.defaults(1L << 30));
        return latest;
    }

    @Override
    protected Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking backing) {
        return latest.transport(regions);
    }
}
