package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.testing.Await;
import io.verbena.transport.TransportException.Reason;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Connections that cannot be made or break: tasks go on over Spark's block transfer, and later ones connect again. */
@Timeout(120)
class BrokenPeerTest extends ReadFixture {
    private static final long INTERVAL_MS = 500;

    private FaultyTransport faults;

    @BeforeEach
    void readWithoutViews() {
        maxBytesInFlight = 1 << 20;
        timeoutMs = 10_000;
        faults = new FaultyTransport(self.memory().transport());
        retryAfter(INTERVAL_MS);
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.SPARK, false);
    }

    private void retryAfter(long intervalMs) {
        peers.close();
        peers = new PeerRegistry(new PeerResources(
                faults, self.memory().arena(), network, counters, Runnable::run, timeoutMs, intervalMs));
    }

    @AfterEach
    void nothingIsHeld() {
        faults.release();
        Await.until("reads have ended", () -> faults.readsInFlight.get() == 0);
        queues.forEach(SourceQueue::close);
        peers.closeIdle(0);
        Await.until(
                "memory of reads is free",
                () -> self.memory().arena().statistics().leases() == 0);
        assertThat(faults.leases).hasValue(0);
    }

    /** Reads everything and returns whether it came by direct read; if not, by nothing else than the block transfer. */
    private boolean readsDirectly() {
        long byRead = counters.get(ShuffleCounter.READ_RDMA_BYTES);
        long byNetty = counters.get(ShuffleCounter.READ_NETTY_BYTES);
        SourceQueue queue = queue(0, PARTITIONS, true);
        assertThat(sorted(read(queue, new ArrayList<>()))).isEqualTo(expected(0, PARTITIONS));
        queue.close();
        boolean direct = counters.get(ShuffleCounter.READ_RDMA_BYTES) > byRead;
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES) > byNetty).isEqualTo(!direct);
        return direct;
    }

    private void awaitDirectReads() {
        Await.until("reads are direct", this::readsDirectly);
    }

    @Test
    void shouldServeWhatIsPendingAndConnectAgainForALaterTask() {
        faults.delay();
        SourceQueue queue = queue(0, PARTITIONS, true);
        List<String> got = new ArrayList<>();
        Thread task = new Thread(() -> read(queue, got), "verbena-test");
        task.start();
        Await.until("a read is under way", () -> faults.delayedReads() == 1);
        faults.breakConnections();
        faults.release();
        Await.until("the task has ended", () -> !task.isAlive());
        assertThat(sorted(got)).isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(2);
        queue.close();
        assertThat(faults.connects).hasValue(1);
        awaitDirectReads();
        assertThat(faults.connects).hasValue(2);
        assertThat(counters.get(ShuffleCounter.PEERS_DEMOTED)).isZero();
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isZero();
    }

    /** Nobody may have read when it broke; the table of shuffles still knows the dead one. */
    @Test
    void shouldNotUseWhatWasLearntThroughADeadConnection() {
        assertThat(readsDirectly()).isTrue();
        SourceQueue user = queue(0, PARTITIONS, true);
        int reads = faults.reads.get();
        faults.breakConnections();
        assertThat(readsDirectly()).isFalse();
        assertThat(faults.reads).hasValue(reads);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        // The replaced one is closed by its last user, the new one is the table's.
        assertThat(faults.leases).hasValue(1);
        user.close();
        assertThat(faults.leases).hasValue(0);
        awaitDirectReads();
        assertThat(faults.leases).hasValue(1);
    }

    @Test
    void shouldDemoteAPeerWhoseConnectionBreaksAgainAndAgainAndRecover() {
        // The three failures take 0.3 s at least; a slow machine has the rest of the interval for them.
        long intervalMs = 4_000;
        retryAfter(intervalMs);
        for (int i = 0; i < ReconnectPolicy.MAX_FAILURES; i++) {
            awaitDirectReads();
            assertThat(counters.get(ShuffleCounter.PEERS_DEMOTED)).isZero();
            faults.breakConnections();
            assertThat(readsDirectly()).isFalse();
        }
        assertThat(counters.get(ShuffleCounter.PEERS_DEMOTED)).isEqualTo(1);
        int connects = faults.connects.get();
        long demotedNs = System.nanoTime();
        awaitDirectReads();
        assertThat(System.nanoTime() - demotedNs).isGreaterThan(intervalMs * 500_000);
        assertThat(faults.connects).hasValue(connects + 1);
        assertThat(counters.get(ShuffleCounter.PEERS_RECOVERED)).isEqualTo(1);
        assertThat(counters.get(ShuffleCounter.PEERS_DEMOTED)).isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"NOT_REACHABLE", "TIMEOUT"})
    void shouldConnectLaterToAPeerThatCouldNotBeReached(Reason reason) {
        faults.refusal = reason;
        assertThat(readsDirectly()).isFalse();
        assertThat(readsDirectly()).isFalse();
        assertThat(counters.get(ShuffleCounter.PEERS_NOT_MAPPED)).isEqualTo(reason == Reason.NOT_REACHABLE ? 1 : 0);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        faults.refusal = null;
        awaitDirectReads();
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isZero();
    }

    @Test
    void shouldGiveUpAConnectionThatGivesNoLease() {
        faults.refusesLeases = true;
        assertThat(readsDirectly()).isFalse();
        faults.refusesLeases = false;
        awaitDirectReads();
        assertThat(faults.connects).hasValue(2);
    }

    /** Spark sees a dead executor by the fetch that fails over the network, at the true place. */
    @Test
    void shouldBlameAPeerThatIsDead() {
        assertThat(readsDirectly()).isTrue();
        faults.breakConnections();
        network.faults((id, bytes) -> {
            throw new IOException("connection refused");
        });
        refs.get(near).remove(1);
        MapRef blamed = refs.get(near).get(0);
        assertFetchFails(blamed, true, "connection refused");
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"CORRUPT_DESCRIPTOR", "VERSION_MISMATCH"})
    void shouldBlameAPeerWhoseDescriptorIsOfNoUse(Reason reason) {
        faults.refusal = reason;
        assertFetchFails(refs.get(near).get(0), true, "endpoint descriptor");
        assertThat(network.requests(ReservedBlocks.endpoint())).isEqualTo(1);
        faults.refusal = null;
        assertThat(readsDirectly()).isTrue();
    }
}
