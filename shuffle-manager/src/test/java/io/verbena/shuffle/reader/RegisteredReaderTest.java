package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.testing.LocalSpark;
import io.verbena.shuffle.testing.TestExecutor;
import io.verbena.shuffle.writer.RowFormat;
import io.verbena.shuffle.writer.ScatterWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ForkJoinPool;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/** From map tasks' records to reduce tasks' records, through Spark's own map output tracker. */
@Timeout(120)
class RegisteredReaderTest {
    private static final int FIELDS = 2;
    private static final int PARTITIONS = 7;

    @TempDir
    Path folder;

    private final Random random = new Random(71);
    private final ShuffleCounters counters = new ShuffleCounters();
    private final Map<Integer, List<String>> expected = new LinkedHashMap<>();

    private Iterator<Product2<Object, Object>> records(boolean rows, int count) {
        UnsafeRow row = new UnsafeRow(FIELDS);
        return new AbstractIterator<>() {
            private int left = count;

            @Override
            public boolean hasNext() {
                return left > 0;
            }

            @Override
            public Product2<Object, Object> next() {
                left--;
                // Nothing for partition 5.
                int partition = random.nextInt(PARTITIONS - 1);
                partition = partition == 5 ? 6 : partition;
                byte[] bytes = new byte[24 + 8 * random.nextInt(40)];
                random.nextBytes(bytes);
                expected.computeIfAbsent(partition, p -> new ArrayList<>())
                        .add(HexFormat.of().formatHex(bytes));
                if (!rows) {
                    return new Tuple2<>(partition, bytes);
                }
                row.pointTo(bytes, bytes.length);
                return new Tuple2<>(partition, row);
            }
        };
    }

    private MapStatus map(
            TestExecutor executor,
            ShuffleDependency<Object, Object, Object> dependency,
            long mapId,
            boolean rows,
            boolean pairs)
            throws IOException {
        TaskContext task = LocalSpark.task(1 << 24);
        ScatterWriter<Object, Object> writer = new ScatterWriter<>(
                executor.writers(),
                dependency,
                RowFormat.of(dependency.serializer()),
                pairs,
                executor.counters(),
                executor.id(),
                mapId,
                task,
                task.taskMetrics().shuffleWriteMetrics());
        writer.write(records(rows, mapId % 5 == 0 ? 0 : 600));
        return writer.stop(true).get();
    }

    /** The last executor has no memory, so its map outputs are stock files. */
    @ParameterizedTest
    @CsvSource({
        "true, false, false, false, true",
        "false, false, false, false, true",
        "false, true, false, false, true",
        "true, false, true, false, true",
        "false, false, true, false, true",
        "false, true, true, false, true",
        "true, false, false, true, true",
        "false, false, true, true, true",
        "false, true, true, true, true",
        "true, false, false, false, false",
        "false, false, false, false, false",
        "false, true, false, false, false",
        "false, false, true, true, false",
        "false, true, true, true, false"
    })
    void shouldReadWhatMapTasksWrote(boolean rows, boolean pairs, boolean compress, boolean encrypt, boolean mapped)
            throws IOException {
        Serializer serializer = rows ? new UnsafeRowSerializer(FIELDS, null) : new KryoSerializer(new SparkConf(false));
        ShuffleDependency<Object, Object, Object> dependency = LocalSpark.dependency(PARTITIONS, serializer);
        TestNetwork network = new TestNetwork();
        List<TestExecutor> executors = new ArrayList<>();
        for (String name : List.of("self", "near", "far")) {
            TestExecutor executor = new TestExecutor(
                    name,
                    folder,
                    1 << 20,
                    name.equals("far") ? 0 : 8,
                    1 << 16,
                    compress,
                    encrypt ? new byte[16] : null);
            executors.add(executor);
            network.add(executor);
        }
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        tracker.registerShuffle(dependency.shuffleId(), 9, PARTITIONS);
        for (int mapIndex = 0; mapIndex < 9; mapIndex++) {
            tracker.registerMapOutput(
                    dependency.shuffleId(),
                    mapIndex,
                    map(executors.get(mapIndex % 3), dependency, 40 + mapIndex, rows, pairs));
        }
        TestExecutor self = executors.get(0);
        ViewTransport views = new ViewTransport(self.memory().transport());
        PeerRegistry peers = new PeerRegistry(new PeerResources(
                mapped ? views : self.memory().transport(),
                self.memory().arena(),
                network,
                counters,
                ForkJoinPool.commonPool(),
                20_000,
                30_000));
        for (int[] range : new int[][] {{0, 1}, {1, 4}, {5, 6}, {0, PARTITIONS}}) {
            assertThat(read(dependency, rows, tracker, resources(self, peers, network), range[0], range[1]))
                    .isEqualTo(expected(range[0], range[1]));
        }
        assertThat(counters.get(ShuffleCounter.READ_SELF_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_MAPPED_BYTES) > 0).isEqualTo(mapped);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES) > 0).isEqualTo(!mapped);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        // What is moved to disk is Spark's format, whatever it was in memory.
        executors.forEach(executor -> executor.writers().evictor().evictAll());
        assertThat(self.counters().get(ShuffleCounter.EVICTED_MAP_OUTPUTS)).isPositive();
        assertThat(read(dependency, rows, tracker, resources(self, peers, network), 0, PARTITIONS))
                .isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.READ_LOCAL_FILE_BYTES)).isPositive();
        peers.closeIdle(0);
        assertThat(views.leases).hasValue(0);
        network.assertAllReleased();
        peers.close();
        tracker.unregisterShuffle(dependency.shuffleId());
        executors.forEach(TestExecutor::close);
    }

    private List<String> expected(int from, int to) {
        List<String> all = new ArrayList<>();
        for (int p = from; p < to; p++) {
            all.addAll(expected.getOrDefault(p, List.of()));
        }
        Collections.sort(all);
        return all;
    }

    private ReaderResources resources(TestExecutor self, PeerRegistry peers, TestNetwork network) {
        return new ReaderResources(
                "self",
                self.store(),
                self.server(),
                peers,
                network,
                self.serializers(),
                20_000,
                1 << 20,
                1 << 30,
                () -> folder.resolve("download").toFile(),
                true);
    }

    private List<String> read(
            ShuffleDependency<Object, Object, Object> dependency,
            boolean rows,
            MapOutputTracker tracker,
            ReaderResources resources,
            int from,
            int to) {
        TaskContext task = LocalSpark.task(1 << 24);
        RegisteredReader<Object, Object> reader = new RegisteredReader<>(
                resources,
                dependency,
                rows ? FIELDS : -1,
                tracker,
                0,
                Integer.MAX_VALUE,
                from,
                to,
                task,
                task.taskMetrics().createTempShuffleReadMetrics(),
                counters);
        Iterator<Product2<Object, Object>> records = reader.read();
        List<String> got = new ArrayList<>();
        while (records.hasNext()) {
            Object value = records.next()._2();
            byte[] bytes = rows ? ((UnsafeRow) value).copy().getBytes() : (byte[]) value;
            got.add(HexFormat.of().formatHex(bytes));
        }
        assertThat(task.taskMetrics().shuffleReadMetrics().recordsRead()).isEqualTo(got.size());
        ((TaskContextImpl) task).markTaskCompleted(scala.Option.empty());
        Collections.sort(got);
        return got;
    }
}
