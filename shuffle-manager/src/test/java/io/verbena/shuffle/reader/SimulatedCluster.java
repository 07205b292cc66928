package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.SoftRegistrar;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.seam.SparkSeam;
import io.verbena.shuffle.testing.TestExecutor;
import java.nio.file.Path;
import java.util.stream.LongStream;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.scheduler.MapStatus;

/**
 * A cluster as its first executor sees it. The executor is real: arena, store, map output tracker, registry of peers, plans and
 * reads; everything that it would do on other threads it does on the caller's. The others are {@link SimulatedPeers}.
 */
final class SimulatedCluster implements AutoCloseable {
    private static final long SEGMENT_BYTES = 1 << 22;
    private static final int SEGMENTS = 32;

    private final ClusterSize size;
    private final SparkConf conf = new SparkConf(false);
    private final SimulatedOutputs outputs;
    private final MapOutputTrackerWorker tracker = new MapOutputTrackerWorker(conf);
    private final SegmentBacking backing =
            Backings.choose(new BackingOptions("plain", null, null, "reads", SEGMENT_BYTES));

    /** What reads arrive in. Apart from the executor's own, because that walks the stack for every lease to find leaks. */
    final Arena readMemory = new Arena(
            new ArenaOptions(SEGMENTS * SEGMENT_BYTES, SEGMENT_BYTES, 1, false), backing, new SoftRegistrar());

    final TestExecutor self;
    final SimulatedPeers network;
    final PeerRegistry peers;

    /** Bytes in which the driver sends the map statuses of one shuffle. */
    int statusBytes;

    SimulatedCluster(ClusterSize size, Path folder) {
        this.size = size;
        outputs = new SimulatedOutputs(size.partitions());
        network = new SimulatedPeers(size, outputs);
        self = new TestExecutor("0", folder, SEGMENT_BYTES, SEGMENTS, 1 << 16, false, null);
        peers = new PeerRegistry(
                new PeerResources(network, readMemory, network, self.counters(), Runnable::run, 60_000, 60_000));
    }

    /** Writes the executor's own map outputs and brings the map statuses of all from the driver. */
    void write(int shuffleId) {
        for (int mapIndex = 0; mapIndex < size.mapsPerExecutor(); mapIndex++) {
            long mapId = size.mapId(shuffleId, mapIndex);
            self.store().commit(shuffleId, self.memory().output(mapId, BlockLayout.RECORDS, outputs.blocks(mapIndex)));
        }
        MapStatus[] statuses = new MapStatus[size.maps()];
        for (int mapIndex = 0; mapIndex < statuses.length; mapIndex++) {
            statuses[mapIndex] = SparkSeam.mapStatus(
                    network.id(size.executorOf(mapIndex)),
                    outputs.blockLengths(mapIndex),
                    size.mapId(shuffleId, mapIndex),
                    0);
        }
        byte[] message = MapOutputTracker.serializeOutputStatuses(statuses, null, true, Integer.MAX_VALUE, conf)
                ._1();
        statusBytes = message.length;
        tracker.mapStatuses().put(shuffleId, MapOutputTracker.deserializeOutputStatuses(message, conf));
    }

    /** Bytes of all blocks of the executor's own map outputs. */
    long ownBytes() {
        long bytes = 0;
        for (int mapIndex = 0; mapIndex < size.mapsPerExecutor(); mapIndex++) {
            bytes += LongStream.of(outputs.blockLengths(mapIndex)).sum();
        }
        return bytes;
    }

    FetchPlan plan(int shuffleId, int partition) {
        return FetchPlan.of(tracker, shuffleId, 0, Integer.MAX_VALUE, partition, partition + 1);
    }

    /** Begins a reduce task; the caller closes it. */
    SourceQueue start(int shuffleId, FetchPlan plan) {
        ReaderResources resources = new ReaderResources(
                "0",
                self.store(),
                self.server(),
                peers,
                network,
                self.serializers(),
                60_000,
                48 << 20,
                200 << 20,
                () -> {
                    throw new AssertionError("nothing is downloaded");
                },
                true);
        SourceQueue queue =
                new SourceQueue(resources, shuffleId, size.partitions(), new TempShuffleReadMetrics(), self.counters());
        queue.start(plan);
        return queue;
    }

    /** Reads all blocks and asserts that they are all there. */
    void drain(SourceQueue queue, int partition) {
        long expected = 0;
        for (int mapIndex = 0; mapIndex < size.maps(); mapIndex++) {
            expected += outputs.blockLength(mapIndex, partition);
        }
        long read = 0;
        for (BlockSource source = queue.next(); source != null; source = queue.next()) {
            for (Slice slice = queue.nextSlice(source); slice != null; slice = queue.nextSlice(source)) {
                read += slice.length();
            }
        }
        assertThat(read).isEqualTo(expected);
    }

    void runTask(int shuffleId, int partition) {
        SourceQueue queue = start(shuffleId, plan(shuffleId, partition));
        drain(queue, partition);
        queue.close();
    }

    /** What Spark's removal of a shuffle does on an executor. */
    void remove(int shuffleId) {
        assertThat(self.store().remove(shuffleId)).isEmpty();
        peers.forget(shuffleId);
        self.memory().arena().reclaim();
        tracker.unregisterShuffle(shuffleId);
    }

    @Override
    public void close() {
        peers.close();
        assertThat(network.leases).isZero();
        assertThat(network.connections).isZero();
        readMemory.close();
        backing.close();
        self.close();
    }
}
