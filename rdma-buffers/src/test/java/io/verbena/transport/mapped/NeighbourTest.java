package io.verbena.transport.mapped;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.Backings;
import io.verbena.testing.Await;
import io.verbena.testing.ChildJvm;
import io.verbena.testing.Tmpfs;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TestEndpoint;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two processes on one host, one of which dies without a chance to clean up. */
@Tag("slow")
@Timeout(120)
class NeighbourTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);
    private static final int BYTES = 100_000;

    private Tmpfs shm;
    private TestEndpoint here;

    @BeforeEach
    void open() throws Exception {
        shm = Tmpfs.directory();
        here = new TestEndpoint(
                shm.path(), "shm", (regions, backing) -> new MappedTransport(regions, backing.ownerDirectory()));
    }

    @AfterEach
    void close() throws Exception {
        here.close();
        shm.close();
    }

    private Path root() {
        return here.backing().ownerDirectory().getParent();
    }

    private static long crc(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return crc.getValue();
    }

    private static long expectedCrc() {
        return crc(ByteBuffer.wrap(TestEndpoint.content(BYTES, 1)));
    }

    @Test
    void shouldFreeTheLeasesOfAKilledReaderAndSweepItsDirectory() throws Exception {
        RegisteredBuffer served = here.acquireFilled(BYTES, 1);
        try (ChildJvm reader = new ChildJvm(
                NeighbourProcess.class,
                NeighbourProcess.arguments("hold", shm.path(), here.transport().descriptor()))) {
            assertThat(reader.expect("HELD")).isEqualTo("key=7 crc=" + expectedCrc());
            assertThat(here.transport().unread(7)).isFalse();
            assertThat(here.transport().unread(8)).isTrue();
            here.arena().retire(served, () -> here.transport().unread(7));
            // A reader that is merely stopped is safe: its lease has no time to live.
            reader.stop();
            assertThat(here.arena().reclaim()).isZero();
            assertThat(Backings.sweep(root())).isEmpty();
            reader.kill();
            Await.until("key 7 is unread", () -> here.transport().unread(7));
            Await.until(
                    "retired memory is free", () -> here.arena().statistics().quarantinedBytes() == 0);
        }
        List<Path> removed = Backings.sweep(root());
        assertThat(removed).hasSize(1);
        assertThat(removed.get(0)).doesNotExist();
        assertThat(here.backing().ownerDirectory()).exists();
    }

    @Test
    void shouldKeepViewsOfAKilledOwnerAndSweepItsDirectoryOnTheNextStart() throws Exception {
        try (ChildJvm owner =
                new ChildJvm(NeighbourProcess.class, List.of("own", shm.path().toString()))) {
            Path directory = Path.of(owner.expect("DIRECTORY"));
            long address = Long.parseLong(owner.expect("ADDRESS"));
            byte[] descriptor = HexFormat.of().parseHex(owner.expect("DESCRIPTOR"));
            int rkey = EndpointDescriptor.decode(descriptor).segments().get(0).rkey();
            RemoteMemory remote = here.transport().connect(descriptor, TIMEOUT);
            ReadLease lease = remote.acquireLease(1, TIMEOUT);
            ByteBuffer view = remote.viewBuffer(address, rkey, BYTES);
            assertThat(crc(view.duplicate())).isEqualTo(expectedCrc());
            assertThat(remote.isAlive()).isTrue();
            owner.kill();
            assertThat(remote.isAlive()).isFalse();
            assertThat(directory).exists();
            new TestEndpoint(
                            shm.path(),
                            "shm",
                            (regions, backing) -> new MappedTransport(regions, backing.ownerDirectory()))
                    .close();
            assertThat(directory).doesNotExist();
            assertThat(crc(view.duplicate())).isEqualTo(expectedCrc());
            assertThatThrownBy(() -> remote.acquireLease(2, TIMEOUT))
                    .isInstanceOfSatisfying(
                            TransportException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.PEER_GONE));
            lease.close();
            remote.close();
            assertThatThrownBy(() -> here.transport().connect(descriptor, TIMEOUT))
                    .isInstanceOfSatisfying(
                            TransportException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.NOT_REACHABLE));
        }
    }

    /**
     * POSIX drops all of a process's locks on a file when it closes any descriptor of it. So neither a sweep nor a reader in the
     * owner's own process may open the owner's lock files a second time; only another process can tell.
     */
    @Test
    void shouldKeepItsLocksWhenOthersInTheSameProcessComeAndGo() throws Exception {
        RegisteredBuffer served = here.acquireFilled(BYTES, 1);
        TestEndpoint second = new TestEndpoint(
                shm.path(), "shm", (regions, backing) -> new MappedTransport(regions, backing.ownerDirectory()));
        assertThat(Backings.sweep(root())).isEmpty();
        RemoteMemory inside = second.transport().connect(here.transport().descriptor(), TIMEOUT);
        ReadLease lease = inside.acquireLease(7, TIMEOUT);
        lease.close();
        inside.close();
        // The other process sweeps when it starts, and connects only if it finds the owner alive.
        try (ChildJvm reader = new ChildJvm(
                NeighbourProcess.class,
                NeighbourProcess.arguments("hold", shm.path(), here.transport().descriptor()))) {
            assertThat(reader.expect("HELD")).isEqualTo("key=7 crc=" + expectedCrc());
            assertThat(here.backing().ownerDirectory()).exists();
            assertThat(second.backing().ownerDirectory()).exists();
            assertThat(here.transport().unread(7)).isFalse();
        }
        second.close();
        served.release();
    }

    @Test
    void shouldGrantLeasesWhileTheOwnerKeepsAsking() throws Exception {
        try (ChildJvm reader = new ChildJvm(
                NeighbourProcess.class,
                NeighbourProcess.arguments(
                        "contend", shm.path(), here.transport().descriptor()))) {
            assertThat(reader.expect("READY")).isEqualTo("now");
            Thread asking = new Thread(() -> {
                while (!Thread.currentThread().isInterrupted()) {
                    here.transport().unread(7);
                }
            });
            asking.setDaemon(true);
            asking.start();
            assertThat(reader.expect("DONE")).isEqualTo("300");
            asking.interrupt();
            asking.join();
        }
        Await.until("key 7 is unread", () -> here.transport().unread(7));
    }
}
