package io.verbena.it.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.guest.GuestHost;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.DeviceEntry;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RecordingListener;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TestEndpoint;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.transport.verbs.VerbsStatistics;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What many connections, failures and reads leave behind, over real verbs between the guest's two hosts.
 *
 * <p>{@code -Dverbena.soak.cycles=10000 -Dverbena.soak.failures=1000} is the full run, of several minutes; with
 * {@code -Dtest=GuestSuiteTest -Dverbena.guest.tests=.*VerbsSoakTest} nothing else runs in the guest.
 */
@Tag("guest")
@Timeout(1200)
class VerbsSoakTest {
    private static final int CYCLES = Integer.getInteger("verbena.soak.cycles", 200);
    private static final int FAILURES = Integer.getInteger("verbena.soak.failures", 40);
    private static final int WARM_UP = 20;
    private static final int BYTES = 4096;
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private VerbsSide owner;
    private VerbsSide reader;
    private RegisteredBuffer served;
    private RegisteredBuffer destination;

    @BeforeEach
    void open() throws Exception {
        owner = VerbsSide.open(VerbsSide.on(GuestHost.A.address4()));
        reader = VerbsSide.open(VerbsSide.on(GuestHost.B.address4()));
        served = owner.endpoint().acquireFilled(BYTES, 1);
        destination = reader.endpoint().acquire(BYTES);
    }

    @AfterEach
    void close() throws Exception {
        served.release();
        destination.release();
        reader.close();
        owner.close();
    }

    private TransportException read(RemoteMemory remote) throws Exception {
        RecordingListener listener = new RecordingListener();
        Range range = new Range(served.address(), served.region().rkey(), BYTES, 0);
        remote.read(new ReadRequest(destination, List.of(range), System.nanoTime() + TIMEOUT.toNanos(), listener));
        return listener.await();
    }

    private void connectReadClose(byte[] descriptor) throws Exception {
        try (RemoteMemory remote = reader.transport().connect(descriptor, TIMEOUT);
                ReadLease lease = remote.acquireLease(1, TIMEOUT)) {
            assertThat(lease.key()).isEqualTo(1);
            assertThat(read(remote)).isNull();
        }
    }

    private void connectAndFail(byte[] wrong) throws Exception {
        try (RemoteMemory remote = reader.transport().connect(wrong, TIMEOUT)) {
            TransportException failure = read(remote);
            assertThat(failure).isNotNull();
            assertThat(failure.reason()).isEqualTo(Reason.REMOTE_ACCESS);
        }
    }

    @Test
    void shouldLeaveNothingBehindAfterManyConnectionsAndFailures() throws Exception {
        byte[] right = owner.transport().descriptor();
        EndpointDescriptor real = owner.descriptor();
        byte[] wrong = new EndpointDescriptor(
                        real.transport(),
                        real.bootId(),
                        real.token(),
                        real.leaseFile(),
                        real.segments(),
                        real.devices().stream()
                                .map(d -> new DeviceEntry(
                                        d.addresses(),
                                        d.rkeys().stream()
                                                .map(key -> key ^ 0x5a00)
                                                .toList()))
                                .toList())
                .encode();
        for (int i = 0; i < WARM_UP; i++) {
            connectReadClose(right);
            connectAndFail(wrong);
        }
        Resources before = Resources.settled();
        long startNs = System.nanoTime();
        for (int i = 0; i < CYCLES; i++) {
            connectReadClose(right);
        }
        long cyclesNs = System.nanoTime() - startNs;
        for (int i = 0; i < FAILURES; i++) {
            connectAndFail(wrong);
        }
        Resources after = Resources.settled();
        System.err.printf(
                "soak: cycles=%d, msPerCycle=%.1f, failures=%d, before=%s, after=%s%n",
                CYCLES, cyclesNs / 1e6 / CYCLES, FAILURES, before, after);
        assertThat(after.descriptors()).isLessThanOrEqualTo(before.descriptors());
        assertThat(after.threads()).isLessThanOrEqualTo(before.threads());
        assertThat(after.verbs()).isEqualTo(before.verbs());
        // A control block and a ring of 288 slots are 50 KB; the heap is 1 GB at most.
        assertThat(after.residentBytes() - before.residentBytes()).isLessThan(64L << 20);
        VerbsStatistics reading = reader.statistics();
        assertThat(reading.connects()).isEqualTo(CYCLES + FAILURES + 2L * WARM_UP);
        assertThat(reading.connectionFailures()).isEqualTo(FAILURES + WARM_UP);
        assertThat(owner.transport().unread(1)).isTrue();
    }

    @Test
    void shouldNeitherRegisterNorMakeGarbageInTheSteadyState() throws Exception {
        int ranges = 64;
        int rounds = 200;
        int warmUp = 200;
        List<Range> pieces = new ArrayList<>();
        for (int i = 0; i < ranges; i++) {
            pieces.add(new Range(served.address() + i * 64L, served.region().rkey(), 64, i * 64L));
        }
        Repeated repeated = new Repeated();
        ReadRequest request =
                new ReadRequest(destination, pieces, System.nanoTime() + TimeUnit.MINUTES.toNanos(15), repeated);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long progress = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("verbena-verbs-progress-" + GuestHost.B.deviceName()))
                .findFirst()
                .orElseThrow()
                .getId();
        try (RemoteMemory remote = reader.transport().connect(owner.transport().descriptor(), TIMEOUT)) {
            repeated.read(remote, request, warmUp);
            long registrations = reader.devices().statistics().registrations();
            VerbsStatistics before = reader.statistics();
            long mine = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
            long its = threads.getThreadAllocatedBytes(progress);
            repeated.read(remote, request, rounds);
            its = threads.getThreadAllocatedBytes(progress) - its;
            mine = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - mine;
            VerbsStatistics after = reader.statistics();
            long reads = after.readWorkRequests() - before.readWorkRequests();
            System.err.printf(
                    "steady state: reads=%d, doorbells=%d, allocated by the poster=%d, by the progress thread=%d bytes%n",
                    reads, after.doorbells() - before.doorbells(), mine, its);
            assertThat(repeated.failure).isNull();
            assertThat(reads).isEqualTo((long) rounds * ranges);
            // One chain of 64 for each request.
            assertThat(after.doorbells() - before.doorbells()).isEqualTo(rounds);
            assertThat(reader.devices().statistics().registrations()).isEqualTo(registrations);
            // Housekeeping four times a second makes a little; a read makes nothing.
            assertThat(mine + its).isLessThan(reads);
        }
    }

    /** Waits without making garbage, which would be counted. */
    private static final class Repeated implements ReadRequest.Listener {
        private volatile int ended;
        private volatile TransportException failure;

        @Override
        @SuppressWarnings("NonAtomicVolatileUpdate") // Only the progress thread writes.
        public void onSuccess() {
            ended++;
        }

        @Override
        public void onFailure(TransportException cause) {
            failure = cause;
        }

        void read(RemoteMemory remote, ReadRequest request, int times) {
            for (int i = 0; i < times && failure == null; i++) {
                int before = ended;
                remote.read(request);
                while (ended == before && failure == null) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    @Test
    void shouldTakeAnotherCompletionQueueBeforeOneCouldOverrun() throws Exception {
        VerbsOptions deep = new VerbsOptions(
                false,
                List.of(),
                List.of(GuestHost.B.address4()),
                0,
                64 << 20,
                8000,
                1 << 20,
                1 << 30,
                TIMEOUT,
                0,
                0,
                0);
        // Two connections of this depth fill a queue of 16,384 entries; five need three.
        int connections = 5;
        int ranges = 5000;
        int each = 8;
        try (VerbsSide side = VerbsSide.open(deep)) {
            List<Range> pieces = new ArrayList<>();
            for (int i = 0; i < ranges; i++) {
                pieces.add(new Range(
                        served.address() + i % (BYTES / each) * (long) each,
                        served.region().rkey(),
                        each,
                        i % (BYTES / each) * (long) each));
            }
            List<RemoteMemory> remotes = new ArrayList<>();
            List<RecordingListener> listeners = new ArrayList<>();
            List<RegisteredBuffer> targets = new ArrayList<>();
            for (int i = 0; i < connections; i++) {
                remotes.add(side.transport().connect(owner.transport().descriptor(), TIMEOUT));
                targets.add(side.endpoint().acquire(BYTES));
            }
            for (int i = 0; i < connections; i++) {
                RecordingListener listener = new RecordingListener();
                listeners.add(listener);
                remotes.get(i)
                        .read(new ReadRequest(
                                targets.get(i), pieces, System.nanoTime() + 4 * TIMEOUT.toNanos(), listener));
            }
            for (int i = 0; i < connections; i++) {
                assertThat(listeners.get(i).await()).isNull();
                byte[] got = new byte[BYTES];
                targets.get(i).buffer().get(0, got);
                assertThat(got).isEqualTo(TestEndpoint.content(BYTES, 1));
                targets.get(i).release();
                remotes.get(i).close();
            }
            assertThat(side.statistics().readBytes()).isEqualTo((long) connections * ranges * each);
            assertThat(side.statistics().strayCompletions()).isZero();
        }
    }
}
