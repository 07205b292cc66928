package io.verbena.transport.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.registration.FileLease;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.MrCache;
import io.verbena.registration.MrCacheStatistics;
import io.verbena.registration.RegistrationCost;
import io.verbena.testing.Tmpfs;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RecordingListener;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TestEndpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that are registered with a real device and read by RDMA Read: where there is one, which in CI is the Soft-RoCE guest. */
@Tag("guest")
@Timeout(120)
class MappedFilesTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final int BYTES = 3_000_001;

    @TempDir
    Path folder;

    private Tmpfs shm;
    private VerbsDevices devices;
    private MrCache cache;
    private TestEndpoint endpoint;

    @BeforeEach
    void open() throws Exception {
        shm = Tmpfs.directory();
        devices = Verbs.open(VerbsOptions.defaults(64 << 20));
        cache = new MrCache(devices, 8 << 20);
        endpoint = new TestEndpoint(
                shm.path(),
                "shm",
                devices,
                (regions, backing) -> devices.transport(() -> {
                    List<MemoryRegion> all = new ArrayList<>(regions.get());
                    all.addAll(cache.regions());
                    return all;
                }));
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        cache.close();
        assertThat(cache.statistics().pinnedBytes()).isZero();
        endpoint.close();
        shm.close();
    }

    private Path file(Path directory, String name) throws IOException {
        byte[] content = new byte[BYTES];
        new Random(name.hashCode()).nextBytes(content);
        return Files.write(directory.resolve(name), content);
    }

    private void assertReadByPeer(Path file, int offset, int length) throws Exception {
        try (FileLease pinned = cache.acquire(file, 0, BYTES);
                RemoteMemory remote =
                        endpoint.transport().connect(endpoint.transport().descriptor(), TIMEOUT);
                ReadLease lease = remote.acquireLease(1, TIMEOUT)) {
            assertThat(remote.knows(pinned.region().rkey())).isTrue();
            byte[] expected = new byte[length];
            System.arraycopy(Files.readAllBytes(file), offset, expected, 0, length);
            RegisteredBuffer target = endpoint.acquire(length);
            RecordingListener listener = new RecordingListener();
            remote.read(new ReadRequest(
                    target,
                    List.of(new Range(pinned.address() + offset, pinned.region().rkey(), length, 0)),
                    System.nanoTime() + TIMEOUT.toNanos(),
                    listener));
            assertThat(listener.await()).isNull();
            byte[] read = new byte[length];
            target.buffer().get(0, read);
            target.release();
            assertThat(read).isEqualTo(expected);
            // Leased while it was read, as an owner asks before it gives a file up.
            assertThat(lease.key()).isEqualTo(1);
            assertThat(endpoint.transport().unread(1)).isFalse();
        }
    }

    @Test
    void shouldReadFilesOfTheRootAndOfTmpfs() throws Exception {
        Path onRoot = file(folder, "root");
        Path onTmpfs = file(shm.path(), "tmpfs");
        for (Path file : List.of(onRoot, onTmpfs)) {
            byte[] before = Files.readAllBytes(file);
            assertReadByPeer(file, 0, 100_000);
            assertReadByPeer(file, BYTES - 77_777, 77_777);
            assertThat(Files.readAllBytes(file)).isEqualTo(before);
        }
        MrCacheStatistics now = cache.statistics();
        assertThat(now.misses()).isEqualTo(2);
        assertThat(now.hits()).isEqualTo(2);
        assertThat(now.refusals()).isZero();
        Files.delete(onTmpfs);
    }

    @Test
    void shouldReadAgainWhatWasEvicted() throws Exception {
        Path first = file(folder, "first");
        for (Path file : List.of(first, file(folder, "second"), file(folder, "third"), first)) {
            assertReadByPeer(file, 5, 50_000);
        }
        assertThat(cache.statistics().evictions()).isPositive();
        assertThat(cache.statistics().misses()).isEqualTo(4);
    }

    @Test
    void shouldMeasureWhatRegistrationCosts() {
        RegistrationCost cost = devices.registrationCost();
        assertThat(cost.costNs(4 << 20)).isPositive();
        assertThat(cost.copyNs()).isPositive();
        assertThat(cost.breakEvenBytes()).isGreaterThanOrEqualTo(RegistrationCost.PAGE_BYTES);
        assertThat(devices.describe())
                .allSatisfy(line -> assertThat(line).contains("registration=", "breakEvenBytes="));
    }
}
