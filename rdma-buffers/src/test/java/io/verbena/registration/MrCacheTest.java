package io.verbena.registration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.OffHeap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class MrCacheTest {
    private static final int PAGE = 4096;

    @TempDir
    Path folder;

    private final FakeFileRegistrar registrar = new FakeFileRegistrar();
    private MrCache cache;

    @BeforeEach
    void open() {
        cache = new MrCache(registrar, 8 * PAGE);
    }

    @AfterEach
    void nothingIsLeft() {
        cache.close();
        assertThat(registrar.live()).isZero();
        assertThat(cache.regions()).isEmpty();
        assertThat(cache.statistics().pinnedBytes()).isZero();
        assertAddsUp();
    }

    private void assertAddsUp() {
        MrCacheStatistics now = cache.statistics();
        assertThat(now.misses()).isEqualTo(now.refusals() + now.evictions() + now.drops() + now.entries());
    }

    private Path file(String name, int pages) throws IOException {
        byte[] content = new byte[pages * PAGE];
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) (name.hashCode() + i / 7);
        }
        return Files.write(folder.resolve(name), content);
    }

    /** Leases and gives back at once, after comparing what a peer would read. */
    private void touch(Path file, long offset, int length) throws Exception {
        try (FileLease lease = cache.acquire(file, offset, length)) {
            assertReads(lease, file, offset, length);
        }
    }

    private static void assertReads(FileLease lease, Path file, long offset, int length) throws IOException {
        byte[] read = new byte[length];
        OffHeap.copy(null, lease.address(), read, OffHeap.BYTE_ARRAY_OFFSET, length);
        byte[] all = Files.readAllBytes(file);
        assertThat(read).isEqualTo(Arrays.copyOfRange(all, (int) offset, (int) offset + length));
        long start = lease.region().segment().address();
        assertThat(lease.address() - start)
                .isBetween(0L, lease.region().segment().length() - length);
    }

    @Test
    void shouldRegisterOnceWhatIsAskedForAgain() throws Exception {
        Path file = file("a", 4);
        touch(file, 0, 4 * PAGE);
        touch(file, 0, 4 * PAGE);
        touch(file, PAGE + 5, 77);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(2, 1, 0, 0, 0, 1, 0, 4 * PAGE));
        assertThat(registrar.asked()).isEqualTo(1);
        assertThat(cache.regions()).hasSize(1);
    }

    @Test
    void shouldFindARangeInsideAnyOfThoseThatOverlap() throws Exception {
        Path file = file("a", 6);
        touch(file, 0, 4 * PAGE);
        touch(file, PAGE, 4 * PAGE);
        assertThat(cache.statistics().pinnedBytes()).isEqualTo(8 * PAGE);
        // In the first alone, in the second alone, in both.
        touch(file, 10, 2 * PAGE);
        touch(file, 4 * PAGE + 1, PAGE - 1);
        touch(file, 2 * PAGE, 2 * PAGE);
        assertThat(cache.statistics().hits()).isEqualTo(3);
        // In their union, but in neither: a peer's read must lie in one region.
        touch(file, 10, 4 * PAGE + 10);
        assertThat(cache.statistics().misses()).isEqualTo(3);
    }

    @Test
    void shouldWidenRangesToWholePagesWithinTheFile() throws Exception {
        Path file = Files.write(folder.resolve("odd"), new byte[2 * PAGE + 100]);
        try (FileLease lease = cache.acquire(file, 2 * PAGE + 10, 20)) {
            assertThat(lease.region().segment().length()).isEqualTo(100);
            assertThat(lease.address() - lease.region().segment().address()).isEqualTo(10);
            assertThat(lease.region().segment().id()).isNegative();
        }
        assertThat(cache.statistics().pinnedBytes()).isEqualTo(PAGE);
        assertThat(Files.size(file)).isEqualTo(2 * PAGE + 100);
    }

    @Test
    void shouldEvictTheLeastRecentlyUsedFirstAndInBatches() throws Exception {
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            files.add(file("f" + i, 1));
            touch(files.get(i), 0, PAGE);
        }
        touch(files.get(0), 0, 1);
        Path next = file("next", 1);
        touch(next, 0, PAGE);
        // One page was needed, and 1/8 of the budget more is free: two victims, deregistered by one call.
        assertThat(registrar.batches()).containsExactly(2);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(1, 9, 0, 2, 0, 7, 0, 7 * PAGE));
        touch(files.get(0), 0, PAGE);
        touch(files.get(3), 0, PAGE);
        assertThat(cache.statistics().misses()).isEqualTo(9);
        touch(files.get(1), 0, PAGE);
        assertThat(cache.statistics().misses()).isEqualTo(10);
    }

    @Test
    void shouldKeepWhatIsLeased() throws Exception {
        Path kept = file("kept", 5);
        Path other = file("other", 4);
        FileLease lease = cache.acquire(kept, 0, 5 * PAGE);
        FileLease again = cache.acquire(kept, PAGE, PAGE);
        assertThatThrownBy(() -> cache.acquire(other, 0, 4 * PAGE))
                .isInstanceOf(RegistrationException.class)
                .hasMessageContaining("leasedBytes=" + 5 * PAGE)
                .hasMessageContaining("budgetBytes=" + 8 * PAGE);
        lease.close();
        lease.close();
        assertThatThrownBy(() -> cache.acquire(other, 0, 4 * PAGE)).isInstanceOf(RegistrationException.class);
        assertReads(again, kept, PAGE, PAGE);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(1, 3, 2, 0, 0, 1, 1, 5 * PAGE));
        again.close();
        touch(other, 0, 4 * PAGE);
        assertThat(cache.statistics().evictions()).isEqualTo(1);
    }

    @Test
    void shouldEvictNothingForWhatDoesNotFitAnyway() throws Exception {
        Path idle = file("idle", 2);
        touch(idle, 0, 2 * PAGE);
        Path large = file("large", 9);
        assertThatThrownBy(() -> cache.acquire(large, 0, 9 * PAGE)).isInstanceOf(RegistrationException.class);
        assertThat(cache.statistics().evictions()).isZero();
        assertThat(cache.statistics().entries()).isEqualTo(1);
    }

    @Test
    void shouldServeAFileThatIsUnlinkedAndForgetItWhenTold() throws Exception {
        Path file = file("a", 2);
        byte[] content = Files.readAllBytes(file);
        FileLease lease = cache.acquire(file, 0, 2 * PAGE);
        Files.delete(file);
        byte[] read = new byte[content.length];
        OffHeap.copy(null, lease.address(), read, OffHeap.BYTE_ARRAY_OFFSET, read.length);
        assertThat(read).isEqualTo(content);
        cache.forget(file);
        // A reader may be at it: it goes with the lease.
        assertThat(cache.regions()).hasSize(1);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(0, 1, 0, 0, 1, 0, 0, 2 * PAGE));
        lease.close();
        assertThat(cache.regions()).isEmpty();
        assertThat(cache.statistics().pinnedBytes()).isZero();
        cache.forget(file);
        assertThat(cache.statistics().drops()).isEqualTo(1);
    }

    @Test
    void shouldNotTakeANewFileForTheOldOneOfThatName() throws Exception {
        Path file = file("a", 1);
        touch(file, 0, PAGE);
        Files.move(file("b", 1), file, StandardCopyOption.REPLACE_EXISTING);
        touch(file, 0, PAGE);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(0, 2, 0, 0, 1, 1, 0, PAGE));
        assertThat(registrar.live()).isEqualTo(1);
    }

    @Test
    void shouldMapWritableWhereTheKernelPinsNothingElse() throws Exception {
        // The first mapping that is asked for is read-only.
        int[] first = {0};
        registrar.badAddress(mapped -> first[0]++ == 0);
        Path file = file("a", 1);
        byte[] before = Files.readAllBytes(file);
        touch(file, 0, PAGE);
        assertThat(registrar.asked()).isEqualTo(2);
        touch(file("b", 1), 0, PAGE);
        assertThat(registrar.asked()).as("the verdict is remembered").isEqualTo(3);
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    @Test
    void shouldRememberThatNothingCanBePinned() throws Exception {
        registrar.badAddress(mapped -> true);
        Path file = file("a", 1);
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> cache.acquire(file, 0, PAGE))
                    .isInstanceOf(RegistrationException.class)
                    .hasMessageContaining("does not pin");
        }
        assertThat(registrar.asked()).isEqualTo(2);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(0, 3, 3, 0, 0, 0, 0, 0));
    }

    @Test
    void shouldTryAgainAfterARefusalOfAnotherKind() throws Exception {
        registrar.refusing(true);
        Path file = file("a", 1);
        assertThatThrownBy(() -> cache.acquire(file, 0, PAGE))
                .isInstanceOf(RegistrationException.class)
                .hasMessageContaining("locked memory");
        registrar.refusing(false);
        touch(file, 0, PAGE);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(0, 2, 1, 0, 0, 1, 0, PAGE));
    }

    @Test
    void shouldRefuseRangesThatAreNotInTheFile() throws Exception {
        Path file = file("a", 1);
        for (long[] range : new long[][] {{0, PAGE + 1}, {PAGE, 1}, {-1, 1}, {0, 0}, {1, Long.MAX_VALUE}}) {
            assertThatThrownBy(() -> cache.acquire(file, range[0], range[1]))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("offset=" + range[0]);
        }
        assertThatThrownBy(() -> cache.acquire(folder.resolve("none"), 0, 1)).isInstanceOf(IOException.class);
        assertThat(registrar.asked()).isZero();
    }

    @Test
    void shouldKeepMappedWhatADeviceDoesNotGiveBack() throws Exception {
        Path file = file("a", 1);
        touch(file, 0, PAGE);
        registrar.keeping(true);
        cache.forget(file);
        assertThat(cache.statistics().entries()).isZero();
        assertThat(cache.statistics().pinnedBytes()).isEqualTo(PAGE);
        registrar.keeping(false);
        registrar.deregisterFiles(cache.regions());
        // Only this test's registrar takes it back after all; so the account is made even by hand.
        cache = new MrCache(registrar, PAGE);
    }

    @Test
    void shouldTakeNothingNewOnceClosed() throws Exception {
        Path file = file("a", 1);
        FileLease lease = cache.acquire(file, 0, PAGE);
        touch(file("b", 1), 0, PAGE);
        cache.close();
        assertThat(registrar.live()).isEqualTo(1);
        assertThatThrownBy(() -> cache.acquire(file, 0, PAGE))
                .isInstanceOf(RegistrationException.class)
                .hasMessageContaining("closed");
        assertReads(lease, file, 0, PAGE);
        lease.close();
        assertThat(registrar.live()).isZero();
    }

    @Test
    void shouldStayWithinBudgetAndReadRightUnderConcurrency() throws Exception {
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            files.add(file("c" + i, 3));
        }
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> work = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                Random random = new Random(t);
                Callable<Integer> task = () -> {
                    int refused = 0;
                    for (int i = 0; i < 400; i++) {
                        Path file = files.get(random.nextInt(files.size()));
                        int offset = random.nextInt(2 * PAGE);
                        try {
                            touch(file, offset, 1 + random.nextInt(PAGE));
                        } catch (RegistrationException e) {
                            refused++;
                        }
                        assertThat(cache.statistics().pinnedBytes()).isLessThanOrEqualTo(8 * PAGE);
                        if (i % 50 == 0) {
                            cache.forget(file);
                        }
                    }
                    return refused;
                };
                work.add(threads.submit(task));
            }
            int refused = 0;
            for (Future<Integer> each : work) {
                refused += each.get(50, TimeUnit.SECONDS);
            }
            MrCacheStatistics now = cache.statistics();
            assertThat(now.hits() + now.misses()).isEqualTo(4 * 400);
            assertThat(now.refusals()).isEqualTo(refused);
            assertThat(now.evictions()).isPositive();
            assertThat(now.leasedEntries()).isZero();
            assertThat(registrar.live()).isEqualTo(now.entries());
            assertAddsUp();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void shouldRegisterARangeOnceForManyAtATime() throws Exception {
        Path file = file("a", 4);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> work = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                work.add(threads.submit(() -> {
                    touch(file, 0, 4 * PAGE);
                    return null;
                }));
            }
            for (Future<?> each : work) {
                each.get(50, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(registrar.asked()).isEqualTo(1);
        assertThat(cache.statistics()).isEqualTo(new MrCacheStatistics(3, 1, 0, 0, 0, 1, 0, 4 * PAGE));
    }
}
