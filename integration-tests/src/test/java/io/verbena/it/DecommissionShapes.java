package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.ExecutorAllocationClient;
import org.apache.spark.HashPartitioner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.MapStatus;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;
import scala.Tuple2;

/**
 * Executors that are decommissioned: their map outputs leave memory for Spark's files, Spark sends the files to another executor, and
 * no map task runs twice. A subclass says by which way executors read from each other.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
abstract class DecommissionShapes {
    private static final int EXECUTORS = 3;
    private static final int RECORDS = 60;
    private static final int MAPS = 6;

    /** Larger than what a reduce task fetches ahead, so that it still has to read when the executor has gone. */
    private static final int TEXT_BYTES = 100_000;

    private static final List<Integer> EXPECTED =
            IntStream.range(0, RECORDS).boxed().toList();

    private Cluster cluster;
    private TaskLog log;
    private Signal signal;

    @TempDir
    Path signals;

    abstract boolean mapped();

    @BeforeAll
    void start() {
        cluster = Cluster.executors(
                EXECUTORS,
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                        "spark.decommission.enabled", "true",
                        "spark.storage.decommission.enabled", "true",
                        "spark.storage.decommission.shuffleBlocks.enabled", "true",
                        "spark.storage.decommission.replicationReattemptInterval", "100ms",
                        // Makes an executor that receives a file look at what it stores already.
                        "spark.storage.decommission.shuffleBlocks.maxDiskSize", "10g",
                        "spark.shuffle.rdma.mapped.enabled", Boolean.toString(mapped()),
                        "spark.shuffle.rdma.fetch.maxBytesInFlight", "1m",
                        "spark.shuffle.io.retryWait", "100ms"));
        log = TaskLog.of(cluster);
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @BeforeEach
    void begin() {
        cluster.assertNothingHeld();
        log.forgetTasks();
        signal = new Signal(signals);
    }

    private JavaPairRDD<Integer, String> pairs() {
        return cluster.context()
                .parallelize(EXPECTED, MAPS)
                .mapToPair(i -> new Tuple2<>(i, i + "-" + RddShapes.large(i, TEXT_BYTES)));
    }

    private static int number(Tuple2<Integer, String> pair) {
        String text = pair._2();
        int dash = text.indexOf('-');
        int number = Integer.parseInt(text.substring(0, dash));
        if (pair._1() != number || !text.substring(dash + 1).equals(RddShapes.large(number, TEXT_BYTES))) {
            throw new IllegalStateException("damaged record: key=" + pair._1());
        }
        return number;
    }

    private static List<Integer> numbers(JavaPairRDD<Integer, String> shuffled) {
        return shuffled.map(DecommissionShapes::number).collect().stream()
                .sorted()
                .toList();
    }

    /** Asks Spark to decommission an executor, as a cluster that takes a machine away does. */
    private void decommission(String executorId) {
        ExecutorAllocationClient backend =
                (ExecutorAllocationClient) cluster.context().sc().schedulerBackend();
        assertThat(backend.decommissionExecutor(
                        executorId, new ExecutorDecommissionInfo("by the test", Option.empty()), false, false))
                .isTrue();
    }

    private void awaitGone(String executorId) {
        assertThat(Await.within(90, () -> log.removedExecutors().contains(executorId)))
                .as("executor %s has left", executorId)
                .isTrue();
        assertThat(Await.within(
                        20, () -> cluster.sharedMemory().filesOf(executorId).isEmpty()))
                .as(
                        "shared memory of executor %s: %s",
                        executorId, cluster.sharedMemory().filesOf(executorId))
                .isTrue();
    }

    /** How many map outputs of a shuffle each executor has by now, as the driver knows. */
    private static Map<String, Integer> outputs(JavaPairRDD<Integer, String> shuffled) {
        int shuffleId =
                ((ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().apply(0)).shuffleId();
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        Map<String, Integer> outputs = new HashMap<>();
        for (MapStatus status : tracker.shuffleStatuses().apply(shuffleId).mapStatuses()) {
            if (status != null) {
                outputs.merge(status.location().executorId(), 1, Integer::sum);
            }
        }
        return outputs;
    }

    private void assertNoMapTaskSince(Counted counted) {
        assertThat(log.mapTasks()).as("map tasks").isEmpty();
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                .as("%s", counted)
                .isZero();
        assertThat(counted.of(ShuffleCounter.READ_LOCAL_FILE_BYTES) + counted.of(ShuffleCounter.READ_NETTY_BYTES))
                .as("read from migrated files: %s", counted)
                .isPositive();
    }

    /** First the outputs of one executor move, then, with those that came to it, the outputs of another. */
    @Test
    void shouldReadMigratedMapOutputsWithoutRunningAMapTaskAgain() {
        JavaPairRDD<Integer, String> shuffled = pairs().partitionBy(new HashPartitioner(5));
        Counted first = Counted.fromNow();
        assertThat(numbers(shuffled)).isEqualTo(EXPECTED);
        assertThat(first.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                .as("%s", first)
                .isPositive();
        assertThat(first.of(mapped() ? ShuffleCounter.READ_MAPPED_BYTES : ShuffleCounter.READ_NETTY_BYTES))
                .as("%s", first)
                .isPositive();
        assertThat(log.mapTasks()).hasSize(MAPS);
        assertThat(outputs(shuffled)).as("outputs by executor").hasSize(EXECUTORS);
        List<String> survivors = new ArrayList<>(cluster.executorIds());
        for (int round = 1; round < EXECUTORS; round++) {
            String victim = survivors.remove(0);
            assertThat(cluster.sharedMemory().filesOf(victim))
                    .as("shared memory of %s", victim)
                    .isNotEmpty();
            log.forgetTasks();
            decommission(victim);
            awaitGone(victim);
            assertThat(outputs(shuffled)).doesNotContainKey(victim);
            assertThat(outputs(shuffled).values().stream().mapToInt(i -> i).sum())
                    .isEqualTo(MAPS);
            Counted counted = Counted.fromNow();
            assertThat(numbers(shuffled)).as("round %s", round).isEqualTo(EXPECTED);
            assertNoMapTaskSince(counted);
        }
        assertThat(cluster.states()).hasSize(EXECUTORS).allSatisfy(state -> {
            assertThat(state.counter(ShuffleCounter.FETCH_FAILURES))
                    .as("failed fetches of %s", state)
                    .isZero();
            assertThat(state.counter(ShuffleCounter.EVICTED_MAP_OUTPUTS))
                    .as("an executor that receives files keeps its own outputs in memory: %s", state)
                    .isZero();
        });
    }

    /** Reads one record, tells the test, waits for its word, and reads the rest. */
    private static Iterator<Integer> inTheMiddle(Iterator<Tuple2<Integer, String>> pairs, Signal signal) {
        List<Integer> all = new ArrayList<>();
        all.add(number(pairs.next()));
        signal.fromTask("reading");
        signal.await("go", 1);
        pairs.forEachRemaining(pair -> all.add(number(pair)));
        return all.iterator();
    }

    @Test
    void shouldFinishAReduceStageThatReadsFromTheExecutor() throws Exception {
        JavaPairRDD<Integer, String> shuffled = pairs().partitionBy(new HashPartitioner(EXECUTORS - 1));
        Signal here = signal;
        JavaFutureAction<List<Integer>> job =
                shuffled.mapPartitions(pairs -> inTheMiddle(pairs, here)).collectAsync();
        signal.await("reading", EXECUTORS - 1);
        List<String> readers = signal.texts("reading").stream()
                .map(text -> text.substring(0, text.indexOf(':')))
                .toList();
        List<String> idle = new ArrayList<>(cluster.executorIds());
        idle.removeAll(readers);
        assertThat(idle).as("executors without a reduce task").hasSize(1);
        String victim = idle.get(0);
        assertThat(outputs(shuffled)).as("outputs by executor").containsKey(victim);
        assertThat(cluster.sharedMemory().filesOf(victim))
                .as("shared memory of %s", victim)
                .isNotEmpty();

        log.forgetTasks();
        decommission(victim);
        awaitGone(victim);
        assertThat(log.tasks()).as("tasks still read").isEmpty();
        signal.raise("go", "");
        assertThat(job.get(120, TimeUnit.SECONDS).stream().sorted()).isEqualTo(EXPECTED);
        assertThat(log.mapTasks()).as("map tasks").isEmpty();
    }

    @Test
    void shouldMigrateAMapOutputThatIsWrittenMeanwhile() throws Exception {
        Signal here = signal;
        JavaPairRDD<Integer, String> shuffled = pairs().mapPartitionsToPair(pairs -> {
                    if (TaskContext.getPartitionId() == MAPS - 1) {
                        here.fromTask("writing");
                        here.await("go", 1);
                    }
                    return pairs;
                })
                .partitionBy(new HashPartitioner(5));
        JavaFutureAction<List<Integer>> job =
                shuffled.map(DecommissionShapes::number).collectAsync();
        signal.await("writing", 1);
        String text = signal.texts("writing").get(0);
        String victim = text.substring(0, text.indexOf(':'));
        assertThat(Await.within(60, () -> log.mapTasks().size() == MAPS - 1))
                .as("the other map tasks have ended")
                .isTrue();
        assertThat(cluster.sharedMemory().filesOf(victim))
                .as("shared memory of %s", victim)
                .isNotEmpty();
        decommission(victim);
        assertThat(Await.within(60, () -> !outputs(shuffled).containsKey(victim)))
                .as("what the executor had before has left it: %s", outputs(shuffled))
                .isTrue();
        signal.raise("go", "");
        assertThat(job.get(120, TimeUnit.SECONDS).stream().sorted()).isEqualTo(EXPECTED);
        awaitGone(victim);
        assertThat(log.mapTasks()).hasSize(MAPS);

        log.forgetTasks();
        Counted counted = Counted.fromNow();
        assertThat(numbers(shuffled)).isEqualTo(EXPECTED);
        assertNoMapTaskSince(counted);
    }
}
