package io.verbena.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.testing.Tmpfs;
import io.verbena.transport.TransportException.Reason;
import io.verbena.transport.ways.FixedTransport;
import io.verbena.transport.ways.WaysTransport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** The contract for several transports as one. In this package, since one test of the suite needs to look into the envelope. */
abstract class WaysContractTest extends TransportContractTest {
    private final List<List<Transport>> opened = new ArrayList<>();

    abstract List<Transport> parts(Supplier<List<MemoryRegion>> regions, SegmentBacking backing);

    @Override
    protected Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking backing) {
        List<Transport> parts = parts(regions, backing);
        opened.add(parts);
        return new WaysTransport(parts);
    }

    /** The suite's case, for the descriptor of every part. */
    @Test
    @Override
    void shouldNotReachEndpointsOfAnotherKindOrOfNobody() throws Exception {
        try (Tmpfs shm = Tmpfs.directory();
                TestEndpoint owner = new TestEndpoint(shm.path(), "shm", this::open);
                TestEndpoint reader = new TestEndpoint(shm.path(), "shm", this::open)) {
            owner.acquire(100).release();
            List<Transport> parts = opened.get(opened.size() - 2);
            assertNotReachable(
                    reader.transport(),
                    altered(
                            parts,
                            real -> new EndpointDescriptor(
                                    "pigeon", real.bootId(), real.token(), real.leaseFile(), real.segments())));
            assertNotReachable(
                    reader.transport(),
                    altered(
                            parts,
                            real -> new EndpointDescriptor(
                                    real.transport(), "", UUID.randomUUID(), null, real.segments())));
            assertNotReachable(
                    reader.transport(), new WaysTransport(List.of(new FixedTransport("pigeon", new byte[9]))));
        }
    }

    private static Transport altered(List<Transport> parts, UnaryOperator<EndpointDescriptor> change) throws Exception {
        List<Transport> fixed = new ArrayList<>();
        for (Transport part : parts) {
            byte[] descriptor =
                    change.apply(EndpointDescriptor.decode(part.descriptor())).encode();
            fixed.add(new FixedTransport(part.name(), descriptor));
        }
        return new WaysTransport(fixed);
    }

    private static void assertNotReachable(Transport reader, Transport made) {
        assertThatThrownBy(() -> reader.connect(made.descriptor(), Duration.ofSeconds(10)))
                .isInstanceOfSatisfying(
                        TransportException.class, e -> assertThat(e.reason()).isEqualTo(Reason.NOT_REACHABLE))
                .hasMessageContaining("no way leads to the peer");
    }
}
