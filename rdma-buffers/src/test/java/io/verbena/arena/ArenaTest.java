package io.verbena.arena;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.OffHeap;
import io.verbena.memory.Segment;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import io.verbena.registration.RegistrationStatistics;
import io.verbena.registration.SoftRegistrar;
import io.verbena.testing.Await;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ArenaTest {
    private static final long SEGMENT = 1 << 20;

    private final CountingBacking backing = new CountingBacking(SEGMENT);
    private final SoftRegistrar registrar = new SoftRegistrar();
    private final List<RegisteredBuffer> held = new ArrayList<>();
    private Arena arena = arena(4 * SEGMENT, 1);

    private Arena arena(long budgetBytes, int growthSegments) {
        return new Arena(new ArenaOptions(budgetBytes, SEGMENT, growthSegments, true), backing, registrar);
    }

    private RegisteredBuffer acquire(long bytes) {
        RegisteredBuffer buffer = arena.tryAcquire(bytes);
        assertThat(buffer).isNotNull();
        held.add(buffer);
        return buffer;
    }

    private void release(RegisteredBuffer buffer) {
        held.remove(buffer);
        buffer.release();
    }

    @AfterEach
    void nothingIsLeft() {
        held.forEach(RegisteredBuffer::release);
        arena.close();
        ArenaStatistics end = arena.statistics();
        assertThat(end.leases()).isZero();
        assertThat(end.leasedBytes()).isZero();
        assertThat(end.quarantinedBytes()).isZero();
        assertThat(end.committedBytes()).isZero();
        assertThat(end.segments()).isZero();
        assertThat(arena.freeBytes()).isZero();
        assertThat(registrar.statistics().liveRegions()).isZero();
        assertThat(backing.liveBytes()).isZero();
    }

    private void assertSumsAddUp() {
        ArenaStatistics s = arena.statistics();
        assertThat(s.leasedBytes() + s.quarantinedBytes() + arena.freeBytes()).isEqualTo(s.committedBytes());
        assertThat(s.committedBytes()).isEqualTo(s.segments() * SEGMENT).isLessThanOrEqualTo(s.budgetBytes());
        assertThat(s.peakLeasedBytes()).isGreaterThanOrEqualTo(s.leasedBytes());
        RegistrationStatistics r = registrar.statistics();
        assertThat(r.registeredBytes()).isEqualTo(s.committedBytes());
        assertThat(r.registrations()).isEqualTo(r.deregistrations() + r.liveRegions());
    }

    @Test
    void shouldLeaseMemoryInsideARegisteredSegment() {
        RegisteredBuffer buffer = acquire(1000);
        assertThat(buffer.capacity()).isEqualTo(1000);
        assertThat(buffer.offset() % 64).isZero();
        MemoryRegion region = arena.region(buffer.segmentId());
        assertThat(region).isEqualTo(buffer.region());
        assertThat(arena.regions()).containsExactly(region);
        assertThat(buffer.address()).isEqualTo(region.segment().address() + buffer.offset());
        assertThat(buffer.buffer().capacity()).isEqualTo(1000);
        assertThat(buffer.buffer().order()).isEqualTo(ByteOrder.nativeOrder());
        OffHeap.putInt(buffer.address() + 996, 42);
        assertThat(buffer.buffer().getInt(996)).isEqualTo(42);
        assertThat(arena.region(-1)).isNull();
        assertSumsAddUp();
    }

    @Test
    void shouldRefuseAndCountWhatDoesNotFit() {
        assertThat(arena.tryAcquire(SEGMENT + 1)).isNull();
        assertThat(arena.tryAcquire(Long.MAX_VALUE)).isNull();
        for (int i = 0; i < 4; i++) {
            acquire(SEGMENT);
        }
        assertThat(arena.tryAcquire(1)).isNull();
        assertThat(arena.statistics().refusals()).isEqualTo(3);
        assertThat(arena.statistics().growths()).isEqualTo(4);
        assertThat(backing.peakBytes()).isEqualTo(4 * SEGMENT);
        release(held.get(0));
        acquire(SEGMENT);
        assertSumsAddUp();
        assertThatThrownBy(() -> arena.tryAcquire(-1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void shouldServeEmptyLeases() {
        RegisteredBuffer buffer = acquire(0);
        assertThat(buffer.capacity()).isZero();
        assertThat(buffer.buffer().capacity()).isZero();
        assertThat(arena.statistics().leasedBytes()).isEqualTo(64);
    }

    @Test
    void shouldMatchAModelUnderRandomUse() {
        Random random = new Random(7);
        for (int step = 0; step < 20_000; step++) {
            int choice = random.nextInt(10);
            if (choice < 5) {
                long bytes = random.nextInt(10) == 0 ? random.nextInt((int) SEGMENT) : random.nextInt(20_000);
                RegisteredBuffer buffer = arena.tryAcquire(bytes);
                if (buffer != null) {
                    held.add(buffer);
                    stamp(buffer);
                }
            } else if (!held.isEmpty()) {
                RegisteredBuffer buffer = held.get(random.nextInt(held.size()));
                assertStamped(buffer);
                if (choice < 9) {
                    release(buffer);
                } else {
                    buffer.shrink((long) (buffer.capacity() * random.nextDouble()));
                    stamp(buffer);
                }
            }
            if (step % 100 == 0) {
                assertModel();
            }
        }
        assertModel();
        List.copyOf(held).forEach(this::release);
        // All neighbours are joined again: every segment can be leased whole.
        int segments = arena.statistics().segments();
        for (int i = 0; i < segments; i++) {
            acquire(SEGMENT);
        }
        assertThat(arena.statistics().segments()).isEqualTo(segments);
    }

    private static void stamp(RegisteredBuffer buffer) {
        if (buffer.capacity() >= 16) {
            OffHeap.putLong(buffer.address(), buffer.address());
            OffHeap.putLong(buffer.address() + buffer.capacity() - 8, ~buffer.address());
        }
    }

    private static void assertStamped(RegisteredBuffer buffer) {
        if (buffer.capacity() >= 16) {
            assertThat(OffHeap.getLong(buffer.address())).isEqualTo(buffer.address());
            assertThat(OffHeap.getLong(buffer.address() + buffer.capacity() - 8))
                    .isEqualTo(~buffer.address());
        }
    }

    private void assertModel() {
        List<RegisteredBuffer> sorted = new ArrayList<>(held);
        sorted.sort((a, b) -> Long.compare(a.address(), b.address()));
        long leased = 0;
        long end = 0;
        for (RegisteredBuffer buffer : sorted) {
            long length = ExtentAllocator.held(buffer.capacity());
            Segment segment = buffer.region().segment();
            assertThat(buffer.address()).as("overlap").isGreaterThanOrEqualTo(end);
            end = buffer.address() + length;
            assertThat(end).isLessThanOrEqualTo(segment.address() + segment.length());
            leased += length;
        }
        assertThat(arena.statistics().leasedBytes()).isEqualTo(leased);
        assertThat(arena.statistics().leases()).isEqualTo(held.size());
        assertSumsAddUp();
    }

    @Test
    void shouldHoldAtMostFivePercentMoreThanAskedFor() {
        arena = arena(64 * SEGMENT, 1);
        Random random = new Random(3);
        long asked = 0;
        for (int i = 0; i < 40; i++) {
            long bytes = SEGMENT - random.nextInt(4096);
            asked += acquire(bytes).capacity();
        }
        assertThat(arena.statistics().leasedBytes()).isLessThanOrEqualTo((long) (1.05 * asked));
        assertThat(arena.statistics().committedBytes()).isLessThanOrEqualTo((long) (1.05 * asked));
    }

    @Test
    void shouldGiveTheTailBackAtOnce() {
        arena = arena(SEGMENT, 1);
        RegisteredBuffer first = acquire(SEGMENT);
        assertThat(arena.tryAcquire(64)).isNull();
        first.shrink(100);
        assertThat(first.capacity()).isEqualTo(100);
        RegisteredBuffer second = acquire(SEGMENT - 128);
        assertThat(second.offset()).isEqualTo(128);
        assertThatThrownBy(() -> first.shrink(101)).isInstanceOf(IllegalArgumentException.class);
        assertSumsAddUp();
    }

    @Test
    void shouldKeepTheBudgetAndTheBytesUnderFourThreads() throws Exception {
        arena = arena(6 * SEGMENT, 2);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> results = new ArrayList<>();
            for (int t = 0; t < 4; t++) {
                int seed = t;
                results.add(pool.submit((Callable<Integer>) () -> hammer(seed)));
            }
            int leases = 0;
            for (Future<Integer> result : results) {
                leases += result.get();
            }
            assertThat(leases).isGreaterThan(1000);
        } finally {
            pool.shutdown();
        }
        assertThat(backing.peakBytes()).isLessThanOrEqualTo(6 * SEGMENT);
        assertThat(arena.statistics().leases()).isZero();
        assertSumsAddUp();
    }

    private int hammer(int seed) {
        Random random = new Random(seed);
        List<RegisteredBuffer> mine = new ArrayList<>();
        int leases = 0;
        for (int i = 0; i < 5000; i++) {
            RegisteredBuffer buffer = arena.tryAcquire(16 + random.nextInt(300_000));
            if (buffer != null) {
                stamp(buffer);
                mine.add(buffer);
                leases++;
            }
            if (buffer == null || mine.size() > 8) {
                if (!mine.isEmpty()) {
                    RegisteredBuffer victim = mine.remove(random.nextInt(mine.size()));
                    assertStamped(victim);
                    if (random.nextBoolean()) {
                        victim.release();
                    } else {
                        arena.retire(victim, random::nextBoolean);
                    }
                }
            }
            if (i % 500 == 0) {
                assertThat(arena.trim(0)).isNotNegative();
            }
        }
        mine.forEach(RegisteredBuffer::release);
        Await.until("quarantine is empty", () -> {
            arena.reclaim();
            return arena.statistics().quarantinedBytes() == 0;
        });
        return leases;
    }

    @Test
    void shouldWaitForAnothersGrowthInsteadOfRefusing() throws Exception {
        arena = arena(2 * SEGMENT, 2);
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        backing.block(entered, gate);
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            Future<RegisteredBuffer> first = pool.submit(() -> arena.tryAcquire(SEGMENT));
            entered.await();
            AtomicBoolean started = new AtomicBoolean();
            Future<RegisteredBuffer> second = pool.submit(() -> {
                started.set(true);
                return arena.tryAcquire(SEGMENT);
            });
            Await.until("second has started", started::get);
            gate.countDown();
            held.add(first.get());
            held.add(second.get());
        } finally {
            pool.shutdown();
        }
        assertThat(held).doesNotContainNull();
        assertThat(arena.statistics().refusals()).isZero();
        assertThat(arena.statistics().growths()).isEqualTo(1);
        assertThat(registrar.statistics().batches()).isEqualTo(1);
    }

    @Test
    void shouldRefuseWhenNoBackingGivesMore() {
        arena = arena(4 * SEGMENT, 4);
        backing.refuseAfter(1);
        acquire(SEGMENT);
        assertThat(arena.statistics().committedBytes()).isEqualTo(SEGMENT);
        assertThat(arena.tryAcquire(SEGMENT)).isNull();
        assertThat(arena.statistics().refusals()).isEqualTo(1);
        assertSumsAddUp();
    }

    @Test
    void shouldFreeSegmentsThatTheDeviceRefuses() {
        Registrar refusing = new Registrar() {
            @Override
            public List<MemoryRegion> register(List<Segment> batch) {
                throw new IllegalStateException("no memory to pin");
            }

            @Override
            public void deregister(List<MemoryRegion> regions) {
                throw new IllegalStateException("nothing is registered");
            }

            @Override
            public RegistrationStatistics statistics() {
                return new RegistrationStatistics(0, 0, 0, 0, 0, 0);
            }
        };
        try (Arena unregistered = new Arena(new ArenaOptions(SEGMENT, SEGMENT, 1, false), backing, refusing)) {
            assertThat(unregistered.tryAcquire(1)).isNull();
            assertThat(backing.peakBytes()).isEqualTo(SEGMENT);
            assertThat(backing.liveBytes()).isZero();
        }
    }

    @Test
    void shouldReuseRetiredMemoryOnlyWhenItIsUnread() {
        arena = arena(SEGMENT, 1);
        AtomicBoolean unread = new AtomicBoolean();
        RegisteredBuffer buffer = arena.tryAcquire(SEGMENT);
        arena.retire(buffer, unread::get);
        assertThat(arena.statistics().quarantinedBytes()).isEqualTo(SEGMENT);
        assertThat(arena.statistics().leases()).isZero();
        assertSumsAddUp();
        assertThat(arena.tryAcquire(1)).isNull();
        assertThat(arena.reclaim()).isZero();
        assertThat(arena.trim(0)).isZero();
        assertThatThrownBy(buffer::address)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("RETIRED");
        unread.set(true);
        acquire(SEGMENT);
        assertThat(arena.statistics().quarantinedBytes()).isZero();
    }

    @Test
    void shouldPollTheQuarantineInTheBackground() {
        AtomicInteger polls = new AtomicInteger();
        BooleanSupplier thirdTime = () -> polls.incrementAndGet() >= 3;
        for (int i = 0; i < 10; i++) {
            arena.retire(arena.tryAcquire(1000), thirdTime);
        }
        Await.until("quarantine empties", () -> arena.statistics().quarantinedBytes() == 0);
        // One question per poll for all buffers that share the condition.
        assertThat(polls.get()).isEqualTo(3);
    }

    @Test
    void shouldKeepMemoryWhoseConditionFails() {
        arena.retire(arena.tryAcquire(1000), () -> {
            throw new IllegalStateException("told to fail");
        });
        assertThat(arena.reclaim()).isZero();
        assertThat(arena.statistics().quarantinedBytes()).isEqualTo(1024);
    }

    @Test
    void shouldNameTheSitesOfLeaksAndCloseWhenTheyAreReleased() {
        RegisteredBuffer leak = acquire(5000);
        acquire(SEGMENT);
        release(held.get(1));
        assertThatThrownBy(arena::close)
                .isInstanceOf(LeakException.class)
                .hasMessageContaining("leases=1")
                .hasMessageContaining("ArenaTest.java")
                .hasMessageContaining("bytes=5056");
        // The leaked lease still works; its segment is registered; the empty one is gone; nothing new is leased.
        OffHeap.putLong(leak.address(), 1);
        assertThat(registrar.statistics().liveRegions()).isEqualTo(1);
        assertThat(backing.liveBytes()).isEqualTo(SEGMENT);
        assertThatThrownBy(() -> arena.tryAcquire(1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void shouldLabelLeasesWithTheThreadWhenTrackingIsCheap() {
        try (Arena cheap = new Arena(new ArenaOptions(SEGMENT, SEGMENT, 1, false), backing, registrar)) {
            RegisteredBuffer buffer = cheap.tryAcquire(1);
            buffer.release();
            assertThatThrownBy(buffer::release)
                    .hasMessageContaining(
                            "allocated by " + Thread.currentThread().getName());
        }
    }

    @Test
    void shouldTrimSegmentsThatHaveBeenEmptyLongEnough() {
        RegisteredBuffer kept = acquire(SEGMENT);
        release(acquire(SEGMENT));
        assertThat(arena.trim(Long.MAX_VALUE)).isZero();
        assertThat(arena.trim(0)).isEqualTo(1);
        assertThat(arena.regions()).containsExactly(kept.region());
        assertThat(registrar.statistics().deregistrations()).isEqualTo(1);
        assertThat(backing.liveBytes()).isEqualTo(SEGMENT);
        int freed = kept.segmentId();
        acquire(SEGMENT);
        assertThat(held.get(1).segmentId()).isGreaterThan(freed);
        assertSumsAddUp();
    }

    @Test
    void shouldPrewarmWithinTheBudgetAndThenRegisterNothing() {
        arena = arena(4 * SEGMENT, 3);
        arena.prewarm(2 * SEGMENT);
        assertThat(arena.freeBytes()).isEqualTo(2 * SEGMENT);
        arena.prewarm(2 * SEGMENT);
        assertThat(arena.statistics().growths()).isEqualTo(1);
        arena.prewarm(100 * SEGMENT);
        assertThat(arena.statistics().committedBytes()).isEqualTo(4 * SEGMENT);
        long registrations = registrar.statistics().registrations();
        for (int i = 0; i < 1000; i++) {
            release(acquire(SEGMENT - i));
        }
        assertThat(registrar.statistics().registrations()).isEqualTo(registrations);
    }

    @Test
    void shouldRefuseMisuseNamingTheAllocationSite() {
        RegisteredBuffer buffer = arena.tryAcquire(100);
        buffer.markPosted();
        buffer.markPosted();
        assertMisuse(buffer::release, "release a buffer that is POSTED");
        assertMisuse(() -> buffer.shrink(1), "shrink a buffer that is POSTED");
        assertMisuse(() -> arena.retire(buffer, () -> true), "retire a buffer that is POSTED");
        buffer.markCompleted();
        assertMisuse(buffer::release, "POSTED (posts=1)");
        buffer.markCompleted();
        assertMisuse(buffer::markCompleted, "complete a buffer that is LEASED");
        buffer.release();
        assertMisuse(buffer::release, "release a buffer that is FREE");
        assertMisuse(buffer::address, "FREE");
        assertMisuse(buffer::capacity, "FREE");
        assertMisuse(buffer::buffer, "FREE");
        assertMisuse(buffer::offset, "FREE");
        assertMisuse(buffer::markPosted, "post a buffer that is FREE");
        assertMisuse(() -> buffer.shrink(1), "FREE");
        assertMisuse(() -> arena.retire(buffer, () -> true), "retire a buffer that is FREE");
        assertSumsAddUp();
    }

    private static void assertMisuse(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String message) {
        assertThatThrownBy(call)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(message)
                .hasMessageContaining("shouldRefuseMisuseNamingTheAllocationSite");
    }
}
