package io.verbena.bench.micro;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.OffHeap;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.SoftRegistrar;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import io.verbena.transport.loopback.LoopbackTransport;
import io.verbena.transport.mapped.MappedTransport;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Reads of 64 ranges by one request, from posting it to its callback, by range. These transports copy on a progress thread of
 * their own, so a hand-over to it and back is part of the figure, as it is with a device. RDMA is measured by
 * {@code bin/bench verbs}.
 */
@Per("range")
public class TransportBenchmark extends Defaults {
    private static final int RANGES = 64;
    private static final int REQUESTS = 16;
    private static final long SEGMENT_BYTES = 64L << 20;
    private static final long SOURCE_BYTES = 32L << 20;
    private static final int KEY = 1;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    /** What is read. */
    @State(Scope.Thread)
    public static class Ranges {
        /** Length of a range. */
        @Param({"512", "4096", "65536"})
        public int bytes;

        private final long[][] offsets = new long[REQUESTS][RANGES];
        private int next;

        /** Chooses places. */
        @Setup
        public void choose() {
            Random random = new Random(13);
            for (long[] request : offsets) {
                for (int i = 0; i < RANGES; i++) {
                    request[i] = random.nextInt((int) (SOURCE_BYTES - bytes)) & ~7L;
                }
            }
        }

        private int turn() {
            next = (next + 1) % REQUESTS;
            return next;
        }
    }

    /** One side that serves memory and one that reads it. */
    @State(Scope.Thread)
    public abstract static class Sides {
        private final Semaphore arrived = new Semaphore(0);
        private final ReadRequest.Listener listener = new ReadRequest.Listener() {
            @Override
            public void onSuccess() {
                arrived.release();
            }

            @Override
            public void onFailure(TransportException cause) {
                failure = cause;
                arrived.release();
            }
        };

        private SegmentBacking backing;
        private Arena served;
        private Arena own;
        private Transport server;
        private Transport client;
        private RemoteMemory remote;
        private ReadLease lease;
        private RegisteredBuffer source;
        private RegisteredBuffer destination;
        private List<List<ReadRequest.Range>> requests;
        private volatile TransportException failure;

        abstract Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking memory);

        /** Connects the two and reads each request once, to compare all bytes. */
        @Setup
        public void connect(Ranges ranges) throws InterruptedException, TransportException {
            backing =
                    Backings.choose(new BackingOptions("shm", SHARED_MEMORY, null, "micro-benchmarks", SEGMENT_BYTES));
            ArenaOptions options = new ArenaOptions(SEGMENT_BYTES, SEGMENT_BYTES, 1, false);
            served = new Arena(options, backing, new SoftRegistrar());
            own = new Arena(options, backing, new SoftRegistrar());
            source = served.tryAcquire(SOURCE_BYTES);
            destination = own.tryAcquire((long) RANGES * ranges.bytes);
            byte[] content = new byte[(int) SOURCE_BYTES];
            new Random(17).nextBytes(content);
            OffHeap.copy(content, OffHeap.BYTE_ARRAY_OFFSET, null, source.address(), SOURCE_BYTES);
            server = open(served::regions, backing);
            client = open(own::regions, backing);
            remote = client.connect(server.descriptor(), TIMEOUT);
            lease = remote.acquireLease(KEY, TIMEOUT);
            requests = new ArrayList<>();
            for (long[] offsets : ranges.offsets) {
                List<ReadRequest.Range> request = new ArrayList<>();
                for (int i = 0; i < RANGES; i++) {
                    request.add(new ReadRequest.Range(
                            source.address() + offsets[i],
                            source.region().rkey(),
                            ranges.bytes,
                            (long) i * ranges.bytes));
                }
                requests.add(request);
            }
            for (int turn = 0; turn < REQUESTS; turn++) {
                OffHeap.zero(destination.address(), destination.capacity());
                read(turn);
                for (ReadRequest.Range range : requests.get(turn)) {
                    for (int at = 0; at < ranges.bytes; at += Long.BYTES) {
                        Checks.require(
                                "content",
                                OffHeap.getLong(destination.address() + range.destinationOffset() + at),
                                OffHeap.getLong(range.remoteAddress() + at));
                    }
                }
            }
        }

        long read(int turn) throws InterruptedException, TransportException {
            List<ReadRequest.Range> request = requests.get(turn);
            remote.read(new ReadRequest(destination, request, System.nanoTime() + TIMEOUT.toNanos(), listener));
            if (!arrived.tryAcquire(TIMEOUT.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new IllegalStateException("no callback within timeoutNs=" + TIMEOUT.toNanos());
            }
            if (failure != null) {
                throw failure;
            }
            ReadRequest.Range last = request.get(RANGES - 1);
            long got = OffHeap.getLong(destination.address() + last.destinationOffset());
            Checks.require("content", got, OffHeap.getLong(last.remoteAddress()));
            return got;
        }

        long view(int turn) throws TransportException {
            long sum = 0;
            for (ReadRequest.Range range : requests.get(turn)) {
                sum += OffHeap.getLong(remote.view(range.remoteAddress(), range.rkey(), range.length()));
            }
            return sum;
        }

        /** Closes both and checks that nothing is left. */
        @TearDown
        public void close() {
            lease.close();
            remote.close();
            source.release();
            destination.release();
            client.close();
            server.close();
            Checks.require(
                    "leases", served.statistics().leases() + own.statistics().leases(), 0L);
            served.close();
            own.close();
            backing.close();
        }
    }

    /** Within the process. */
    public static class Loopback extends Sides {
        @Override
        Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking memory) {
            return new LoopbackTransport(regions);
        }
    }

    /** Through files in shared memory, mapped a second time. */
    public static class Mapped extends Sides {
        @Override
        Transport open(Supplier<List<MemoryRegion>> regions, SegmentBacking memory) {
            return new MappedTransport(regions, memory.ownerDirectory());
        }
    }

    /** Memory without a transport. */
    @State(Scope.Thread)
    public static class Memory {
        private long source;
        private long destination;

        /** Touches it. */
        @Setup
        public void allocate(Ranges ranges) {
            source = OffHeap.allocate(SOURCE_BYTES);
            destination = OffHeap.allocate((long) RANGES * ranges.bytes);
            OffHeap.zero(source, SOURCE_BYTES);
            OffHeap.zero(destination, (long) RANGES * ranges.bytes);
        }

        /** Gives it back. */
        @TearDown
        public void free() {
            OffHeap.free(source);
            OffHeap.free(destination);
        }
    }

    /** Copies by the in-process transport. */
    @Benchmark
    @OperationsPerInvocation(RANGES)
    public long loopbackRead(Ranges ranges, Loopback sides) throws InterruptedException, TransportException {
        return sides.read(ranges.turn());
    }

    /** Copies out of a neighbour's memory. */
    @Benchmark
    @OperationsPerInvocation(RANGES)
    public long mappedRead(Ranges ranges, Mapped sides) throws InterruptedException, TransportException {
        return sides.read(ranges.turn());
    }

    /** Views of a neighbour's memory, as readers use it: only the first word of each range is touched. */
    @Benchmark
    @OperationsPerInvocation(RANGES)
    public long mappedView(Ranges ranges, Mapped sides) throws TransportException {
        return sides.view(ranges.turn());
    }

    /** The same copies by the caller. */
    @Benchmark
    @OperationsPerInvocation(RANGES)
    public long memcpyBaseline(Ranges ranges, Memory memory) {
        long to = memory.destination;
        for (long offset : ranges.offsets[ranges.turn()]) {
            OffHeap.copy(null, memory.source + offset, null, to, ranges.bytes);
            to += ranges.bytes;
        }
        return OffHeap.getLong(to - Long.BYTES);
    }
}
