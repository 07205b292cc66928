package io.verbena.bench.micro;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.OffHeap;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.SoftRegistrar;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * One release of a random lease and one acquisition of another size, with many leases live. The arena's cost must not grow with
 * their number, but for what misses the cache. Leak tracking is as in production; memory is there and registered before.
 */
@Per("lease")
public class ArenaBenchmark extends Defaults {
    private static final long SEGMENT_BYTES = 64L << 20;
    private static final long BUDGET_BYTES = 8 * SEGMENT_BYTES;
    private static final int TURNS = 1 << 16;
    private static final int SMALLEST_BITS = 6;
    private static final int LARGEST_BITS = 13;

    /** How many leases there are, and in what order they go and come. */
    @State(Scope.Thread)
    public static class Turns {
        /** Live leases. */
        @Param({"1000", "100000"})
        public int live;

        private final int[] slots = new int[TURNS];
        private final int[] sizes = new int[TURNS];
        private int next;

        /** Sizes of 64 to 8192 bytes, as many between each power of two and the next. */
        @Setup
        public void choose() {
            Random random = new Random(9);
            for (int i = 0; i < TURNS; i++) {
                slots[i] = random.nextInt(live);
                int bits = SMALLEST_BITS + random.nextInt(LARGEST_BITS - SMALLEST_BITS);
                sizes[i] = (1 << bits) + random.nextInt(1 << bits);
            }
        }

        private int turn() {
            next = (next + 1) % TURNS;
            return next;
        }
    }

    /** The arena. */
    @State(Scope.Thread)
    public static class Leases {
        private SegmentBacking backing;
        private Arena arena;
        private RegisteredBuffer[] leases;

        /** Acquires all leases. */
        @Setup
        public void acquire(Turns turns) {
            backing = Backings.choose(new BackingOptions("plain", null, null, "micro-benchmarks", SEGMENT_BYTES));
            arena = new Arena(new ArenaOptions(BUDGET_BYTES, SEGMENT_BYTES, 1, false), backing, new SoftRegistrar());
            arena.prewarm(BUDGET_BYTES);
            leases = new RegisteredBuffer[turns.live];
            for (int i = 0; i < leases.length; i++) {
                leases[i] = acquire(turns.sizes[i % TURNS]);
            }
            Checks.require("leases", arena.statistics().leases(), (long) turns.live);
        }

        private RegisteredBuffer acquire(int bytes) {
            RegisteredBuffer lease = arena.tryAcquire(bytes);
            if (lease == null) {
                throw new IllegalStateException("the arena has refused: bytes=" + bytes + ", " + arena.statistics());
            }
            return lease;
        }

        /** Releases them and checks that the arena agrees. */
        @TearDown
        public void release() {
            Checks.require("leases", arena.statistics().leases(), (long) leases.length);
            for (RegisteredBuffer lease : leases) {
                lease.release();
            }
            Checks.require("leases", arena.statistics().leases(), 0L);
            arena.close();
            backing.close();
        }
    }

    /** The C library's memory. */
    @State(Scope.Thread)
    public static class Blocks {
        private long[] addresses;

        /** Allocates all. */
        @Setup
        public void allocate(Turns turns) {
            addresses = new long[turns.live];
            for (int i = 0; i < addresses.length; i++) {
                addresses[i] = OffHeap.allocate(turns.sizes[i % TURNS]);
            }
        }

        /** Frees them. */
        @TearDown
        public void free() {
            for (long address : addresses) {
                OffHeap.free(address);
            }
        }
    }

    /** Verbena's arena. */
    @Benchmark
    public Object arena(Turns turns, Leases leases) {
        int turn = turns.turn();
        int slot = turns.slots[turn];
        leases.leases[slot].release();
        RegisteredBuffer lease = leases.acquire(turns.sizes[turn]);
        leases.leases[slot] = lease;
        return lease;
    }

    /** {@code free} and {@code malloc}, through Unsafe as Spark calls them. */
    @Benchmark
    public long mallocBaseline(Turns turns, Blocks blocks) {
        int turn = turns.turn();
        int slot = turns.slots[turn];
        OffHeap.free(blocks.addresses[slot]);
        long address = OffHeap.allocate(turns.sizes[turn]);
        blocks.addresses[slot] = address;
        return address;
    }
}
