package io.verbena.transport.mapped;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.SegmentBacking;
import io.verbena.memory.SegmentFile;
import io.verbena.registration.MemoryRegion;
import io.verbena.testing.Tmpfs;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.ReadLease;
import io.verbena.transport.TestEndpoint;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportContractTest;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class MappedTransportTest extends TransportContractTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    @Override
    protected Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking backing) {
        return new MappedTransport(regions, backing.ownerDirectory());
    }

    private static void assertNotReachable(Transport reader, EndpointDescriptor descriptor, String why) {
        assertThatThrownBy(() -> reader.connect(descriptor.encode(), TIMEOUT))
                .isInstanceOfSatisfying(
                        TransportException.class, e -> assertThat(e.reason()).isEqualTo(Reason.NOT_REACHABLE))
                .hasMessageContaining(why);
    }

    @Test
    void shouldNotBeANeighbourOfAnotherHostOrAnotherMount() throws Exception {
        try (Tmpfs shm = Tmpfs.directory();
                TestEndpoint owner = new TestEndpoint(shm.path(), "shm", this::open);
                TestEndpoint reader = new TestEndpoint(shm.path(), "shm", this::open)) {
            EndpointDescriptor real =
                    EndpointDescriptor.decode(owner.transport().descriptor());
            assertThat(real.bootId()).hasSize(36);
            SegmentFile file = real.leaseFile();
            assertNotReachable(
                    reader.transport(),
                    new EndpointDescriptor("mapped", "other", real.token(), file, List.of()),
                    "another host");
            assertNotReachable(
                    reader.transport(),
                    new EndpointDescriptor(
                            "mapped",
                            real.bootId(),
                            real.token(),
                            new SegmentFile(file.path(), file.device(), file.inode() + 1),
                            List.of()),
                    "not visible here");
        }
    }

    @Test
    void shouldServeLocalReadersOnlyWhenNothingCanBeShared() throws Exception {
        try (Tmpfs shm = Tmpfs.directory();
                TestEndpoint owner = new TestEndpoint(shm.path(), "plain", this::open);
                TestEndpoint reader = new TestEndpoint(shm.path(), "shm", this::open)) {
            owner.acquire(100).release();
            EndpointDescriptor descriptor =
                    EndpointDescriptor.decode(owner.transport().descriptor());
            assertThat(descriptor.leaseFile()).isNull();
            assertThat(descriptor.segments()).isEmpty();
            assertNotReachable(reader.transport(), descriptor, "not backed by files");
            try (ReadLease lease = owner.transport().leaseLocal(4)) {
                assertThat(owner.transport().unread(lease.key())).isFalse();
            }
            assertThat(owner.transport().unread(4)).isTrue();
        }
    }
}
