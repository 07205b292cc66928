package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.arena.ArenaStatistics;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What shuffles of up to 10,000 map outputs x 10,000 partitions on 500 executors cost one executor; prints the figures that
 * docs/scale.md has. Times are processor time of one thread, compared with each other only.
 */
@Tag("slow")
@Timeout(600)
class ScaleSimulationTest {
    private static final int SHUFFLE = 3;
    private static final int EXECUTORS = 500;
    private static final int[] SIDES = {1_000, 3_000, 10_000};
    private static final double MAX_BYTES_PER_BLOCK = 20;

    /** Of what is kept about peers; twice of what was measured. */
    private static final long HEAP_PER_PEER = 2_000;

    private static final long HEAP_PER_MAP_OUTPUT = 500;

    @TempDir
    Path folder;

    private int clusters;

    private SimulatedCluster cluster(ClusterSize size) {
        return new SimulatedCluster(size, folder.resolve("cluster-" + clusters++));
    }

    @Test
    void shouldCostLittlePerBlock() {
        // Once before, for the compiler: Spark has one kind of map status up to 2,000 partitions and another above.
        measure(new ClusterSize(EXECUTORS, SIDES[0], SIDES[0]));
        measure(new ClusterSize(EXECUTORS, SIDES[1], SIDES[1]));
        List<ScaleFigures> all = new ArrayList<>();
        for (int side : SIDES) {
            all.add(measure(new ClusterSize(EXECUTORS, side, side)));
        }
        all.forEach(ScaleFigures::print);
        for (ScaleFigures figures : all) {
            ClusterSize size = figures.size();
            assertThat(figures.bytesPerBlock()).isLessThanOrEqualTo(MAX_BYTES_PER_BLOCK);
            // Linear: no size costs more per block than the smallest, but for measuring.
            assertThat(figures.bytesPerBlock()).isLessThan(1.1 * all.get(0).bytesPerBlock());
            assertThat(figures.nsPerBlock()).isLessThan(3 * all.get(0).nsPerBlock());
            assertThat((double) figures.plan().cpuNs() / size.maps())
                    .isLessThan(3.0 * all.get(0).plan().cpuNs() / SIDES[0]);
            // Neither does it depend on the partitions what is known of peers, nor on the tasks how often they are
            // asked.
            assertThat(figures.peerHeapBytes())
                    .isLessThan(HEAP_PER_PEER * EXECUTORS + HEAP_PER_MAP_OUTPUT * size.maps());
            assertThat(figures.firstMessages()).isEqualTo(2 * (EXECUTORS - 1));
            assertThat(figures.nextMessages()).isEqualTo(EXECUTORS - 1);
            assertThat(figures.connections()).isEqualTo(EXECUTORS - 1);
            assertThat(figures.indexReads()).isLessThanOrEqualTo(EXECUTORS - 1);
            assertThat(figures.indexReadBytes()).isLessThanOrEqualTo(150.0 * size.maps());
        }
    }

    private ScaleFigures measure(ClusterSize size) {
        try (SimulatedCluster cluster = cluster(size)) {
            cluster.write(SHUFFLE);
            long indexBytes = size.mapsPerExecutor() * RunImage.overhead(size.partitions());
            long dataBytes = cluster.self.memory().arena().statistics().leasedBytes() - indexBytes;
            assertThat(dataBytes)
                    .as("registered memory is index and data")
                    .isBetween(cluster.ownBytes(), cluster.ownBytes() + 64L * size.mapsPerExecutor());
            Cost plan = plans(cluster);
            long heap = Cost.heapBytes();
            cluster.network.resetCounts();
            Cost first = task(cluster, SHUFFLE, 0);
            int firstMessages = cluster.network.messages();
            Cost later = new Cost(0, 0);
            int tasks = size.tasksPerExecutor();
            for (int t = 1; t < tasks; t++) {
                later = later.plus(task(cluster, SHUFFLE, t * (EXECUTORS + 7)));
            }
            assertThat(cluster.network.messages()).as("of all tasks").isEqualTo(firstMessages);
            long peerHeapBytes = Cost.heapBytes() - heap;
            long indexReads = cluster.network.reads - (long) tasks * (EXECUTORS - 1);
            long indexReadBytes =
                    cluster.network.readBytes - cluster.self.counters().get(ShuffleCounter.READ_RDMA_BYTES);
            cluster.network.resetCounts();
            cluster.write(SHUFFLE + 1);
            cluster.runTask(SHUFFLE + 1, 0);
            int nextMessages = cluster.network.messages();
            cluster.remove(SHUFFLE + 1);
            ScaleFigures figures = new ScaleFigures(
                    size,
                    indexBytes,
                    cluster.self.store().directory(SHUFFLE).encode().length,
                    cluster.statusBytes,
                    firstMessages,
                    nextMessages,
                    cluster.network.connections,
                    peerHeapBytes,
                    (double) indexReads / tasks,
                    (double) indexReadBytes / tasks,
                    plan,
                    first,
                    later.by(tasks - 1));
            cluster.remove(SHUFFLE);
            assertNothingIsLeft(cluster);
            return figures;
        }
    }

    /** Cost of one plan when nothing disturbs it. */
    private static Cost plans(SimulatedCluster cluster) {
        Cost best = null;
        for (int i = 0; i < 50; i++) {
            Cost before = Cost.now();
            FetchPlan plan = cluster.plan(SHUFFLE, i);
            Cost cost = Cost.now().since(before);
            assertThat(plan.byLocation()).hasSize(EXECUTORS);
            best = best == null || cost.cpuNs() < best.cpuNs() ? cost : best;
        }
        return best;
    }

    /** Cost of a task's look-ups and reads, without its plan and without what its peers do. */
    private static Cost task(SimulatedCluster cluster, int shuffleId, int partition) {
        FetchPlan plan = cluster.plan(shuffleId, partition);
        Cost peers = cluster.network.cost;
        Cost before = Cost.now();
        SourceQueue queue = cluster.start(shuffleId, plan);
        cluster.drain(queue, partition);
        queue.close();
        return Cost.now().since(before).since(cluster.network.cost.since(peers));
    }

    private static void assertNothingIsLeft(SimulatedCluster cluster) {
        assertThat(cluster.peers.size()).as("(peer, shuffle) pairs").isZero();
        assertThat(cluster.network.leases).as("leases on peers' shuffles").isZero();
        assertThat(cluster.self.store().shuffleIds()).isEmpty();
        for (ArenaStatistics arena :
                List.of(cluster.self.memory().arena().statistics(), cluster.readMemory.statistics())) {
            assertThat(arena.leasedBytes() + arena.quarantinedBytes()).isZero();
        }
    }

    /** Indexes that are read whole, and in windows. */
    @Test
    void shouldKeepNothingOfFinishedShuffles() {
        for (int partitions : new int[] {200, 600}) {
            ClusterSize size = new ClusterSize(20, 40, partitions);
            try (SimulatedCluster cluster = cluster(size)) {
                long[] heap = new long[3];
                int finished = 0;
                for (int round = 0; round < heap.length; round++) {
                    for (int end = new int[] {10, 100, 1_000}[round]; finished < end; finished++) {
                        finish(cluster, finished);
                    }
                    assertNothingIsLeft(cluster);
                    assertThat(cluster.network.connections).isLessThan(size.executors());
                    assertThat(cluster.self.memory().arena().statistics().segments())
                            .isEqualTo(1);
                    heap[round] = Cost.heapBytes();
                }
                ScaleFigures.line(
                        "heap after 10, 100 and 1,000 finished shuffles of %s: %,d, %,d, %,d bytes",
                        size, heap[0], heap[1], heap[2]);
                // One is known by 38 entries in directories of 19 peers: 900 of them would be more than 20 MB.
                assertThat(heap[2] - heap[1]).isLessThan(4 << 20);
            }
        }
    }

    private static void finish(SimulatedCluster cluster, int shuffleId) {
        cluster.write(shuffleId);
        cluster.runTask(shuffleId, 3);
        if (shuffleId % 10 != 9) {
            cluster.runTask(shuffleId, 150);
            cluster.remove(shuffleId);
        } else {
            // Removed while a task reads it: what the task uses goes when it has been idle.
            SourceQueue queue = cluster.start(shuffleId, cluster.plan(shuffleId, 150));
            cluster.remove(shuffleId);
            assertThat(cluster.peers.isInUse()).isTrue();
            queue.close();
            cluster.peers.closeIdle(0);
            cluster.remove(shuffleId);
            cluster.peers.closeIdle(TimeUnit.HOURS.toNanos(1));
        }
    }

    /** Spark removes a shuffle when the driver's garbage collector has noticed it, which may be never. */
    @Test
    void shouldKeepNothingAboutPeersForShufflesThatAreNoLongerRead() {
        ClusterSize size = new ClusterSize(20, 40, 200);
        try (SimulatedCluster cluster = cluster(size)) {
            for (int shuffleId = 0; shuffleId < 100; shuffleId++) {
                cluster.write(shuffleId);
                cluster.runTask(shuffleId, 7);
                cluster.peers.closeIdle(0);
                assertThat(cluster.peers.size()).isZero();
                assertThat(cluster.network.leases).isZero();
                assertThat(cluster.readMemory.statistics().leasedBytes()).isZero();
            }
            for (int shuffleId = 0; shuffleId < 100; shuffleId++) {
                cluster.remove(shuffleId);
            }
            assertNothingIsLeft(cluster);
        }
    }

    /** Runs every few seconds, under the lock that every task takes for every peer. */
    @Test
    void shouldLookForIdlePeersInTimeThatIsLinearInThem() {
        double few = houseKeepingNs(100);
        double many = houseKeepingNs(EXECUTORS);
        ScaleFigures.line("look for idle peers: %.0f ns per peer and shuffle with 100, %.0f with 500", few, many);
        assertThat(many).isLessThan(3 * few);
    }

    private double houseKeepingNs(int executors) {
        int shuffles = 10;
        ClusterSize size = new ClusterSize(executors, executors, executors);
        try (SimulatedCluster cluster = cluster(size)) {
            for (int shuffleId = 0; shuffleId < shuffles; shuffleId++) {
                cluster.write(shuffleId);
                cluster.runTask(shuffleId, 0);
            }
            assertThat(cluster.peers.size()).isEqualTo(shuffles * (executors - 1));
            long best = Long.MAX_VALUE;
            for (int i = 0; i < 20; i++) {
                Cost before = Cost.now();
                cluster.peers.closeIdle(TimeUnit.HOURS.toNanos(1));
                best = Math.min(best, Cost.now().since(before).cpuNs());
            }
            assertThat(cluster.peers.size()).isEqualTo(shuffles * (executors - 1));
            for (int shuffleId = 0; shuffleId < shuffles; shuffleId++) {
                cluster.remove(shuffleId);
            }
            return (double) best / (shuffles * executors);
        }
    }
}
