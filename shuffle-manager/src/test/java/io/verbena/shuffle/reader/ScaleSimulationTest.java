package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a shuffle of 10,000 x 10,000 blocks on 500 executors costs one of them; prints the figures that the documentation has. */
@Tag("slow")
@Timeout(600)
class ScaleSimulationTest {
    private static final int SHUFFLE = 3;
    private static final int EXECUTORS = 500;
    private static final double MAX_BYTES_PER_BLOCK = 20;

    @TempDir
    Path folder;

    /** What one size was measured to cost. */
    private record Figures(
            ClusterSize size,
            double indexBytesPerBlock,
            double directoryBytesPerBlock,
            long ownMetadataBytes,
            long statusBytes,
            int messages,
            long messageBytes,
            int connections,
            long heapFirstTask,
            long heapAllTasks,
            long indexReads,
            long indexRanges,
            long indexBytes,
            Cost plan,
            Cost firstTask,
            Cost laterTask) {}

    @Test
    void shouldCostLittleMemoryAndTimePerBlock() {
        List<Figures> all = new ArrayList<>();
        // The smallest warms the compiler up.
        measure(new ClusterSize(EXECUTORS, 1_000, 1_000));
        for (int side : new int[] {1_000, 3_000, 10_000}) {
            all.add(measure(new ClusterSize(EXECUTORS, side, side)));
        }
        all.forEach(ScaleSimulationTest::print);
        for (Figures figures : all) {
            assertThat(figures.indexBytesPerBlock() + figures.directoryBytesPerBlock())
                    .isLessThanOrEqualTo(MAX_BYTES_PER_BLOCK);
        }
    }

    private Figures measure(ClusterSize size) {
        try (SimulatedCluster cluster =
                new SimulatedCluster(size, folder.resolve("m" + size.maps() + System.nanoTime()))) {
            cluster.write(SHUFFLE);
            long ownDirectory = cluster.self.store().directory(SHUFFLE).encode().length;
            long ownIndex = size.mapsPerExecutor() * RunImage.overhead(size.partitions());
            double ownBlocks = (double) size.mapsPerExecutor() * size.partitions();
            cluster.plan(SHUFFLE, 1);
            int plans = 20;
            Cost before = Cost.now();
            for (int i = 0; i < plans; i++) {
                cluster.plan(SHUFFLE, i);
            }
            Cost plan = Cost.now().since(before);
            long heap = Cost.heapBytes();
            cluster.network.resetCounts();
            Cost first = task(cluster, 0);
            long heapFirst = Cost.heapBytes() - heap;
            int messages = cluster.network.descriptorRequests + cluster.network.directoryRequests;
            long messageBytes = cluster.network.directoryBytes;
            Cost later = new Cost(0, 0);
            int tasks = size.tasksPerExecutor();
            for (int t = 1; t < tasks; t++) {
                later = later.plus(task(cluster, t * EXECUTORS + 7 * t));
            }
            long heapAll = Cost.heapBytes() - heap;
            long dataReads = (long) tasks * (EXECUTORS - 1);
            long dataBytes = cluster.self.counters().get(ShuffleCounter.READ_RDMA_BYTES);
            Figures figures = new Figures(
                    size,
                    ownIndex / ownBlocks,
                    ownDirectory / ownBlocks,
                    ownIndex,
                    cluster.statusBytes,
                    messages,
                    messageBytes,
                    cluster.network.connections,
                    heapFirst,
                    heapAll,
                    cluster.network.reads - dataReads,
                    cluster.network.ranges,
                    cluster.network.readBytes - dataBytes,
                    new Cost(plan.cpuNs() / plans, plan.garbageBytes() / plans),
                    first,
                    new Cost(later.cpuNs() / (tasks - 1), later.garbageBytes() / (tasks - 1)));
            cluster.remove(SHUFFLE);
            return figures;
        }
    }

    /** Cost of a task's look-ups and reads, without its plan and without what its peers do. */
    private static Cost task(SimulatedCluster cluster, int partition) {
        FetchPlan plan = cluster.plan(SHUFFLE, partition);
        Cost peers = cluster.network.cost;
        Cost before = Cost.now();
        SourceQueue queue = cluster.start(SHUFFLE, plan);
        cluster.drain(queue, partition);
        queue.close();
        return Cost.now().since(before).since(cluster.network.cost.since(peers));
    }

    private static void print(Figures f) {
        line("%s: %,d blocks", f.size(), f.size().blocks());
        line("  index %.3f + directory %.4f bytes per block", f.indexBytesPerBlock(), f.directoryBytesPerBlock());
        line("  registered metadata of an executor %,d bytes", f.ownMetadataBytes());
        line("  map statuses %,d bytes", f.statusBytes());
        line("  messages %d, %,d bytes; connections %d", f.messages(), f.messageBytes(), f.connections());
        line("  heap about peers: %,d bytes after a task, %,d after all", f.heapFirstTask(), f.heapAllTasks());
        line("  index reads %d requests, %,d bytes; ranges %,d", f.indexReads(), f.indexBytes(), f.indexRanges());
        cost("plan", f.plan(), f.size().maps());
        cost("first task", f.firstTask(), f.size().maps());
        cost("later task", f.laterTask(), f.size().maps());
    }

    private static void cost(String what, Cost cost, int blocks) {
        line(
                "  %s: %.3f ms, %.0f ns and %.0f bytes of garbage per block",
                what, cost.cpuNs() / 1e6, (double) cost.cpuNs() / blocks, (double) cost.garbageBytes() / blocks);
    }

    private static void line(String format, Object... values) {
        System.out.println("[scale] " + String.format(Locale.ROOT, format, values));
    }
}
