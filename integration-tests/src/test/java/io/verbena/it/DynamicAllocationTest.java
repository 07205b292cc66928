package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.it.process.Ports;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.deploy.ExternalShuffleService;
import org.apache.spark.internal.config.package$;
import org.apache.spark.shuffle.rdma.RdmaShuffleManager;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;
import scala.Tuple2;

/** Executors that come when there is work and go when there is none. */
@Timeout(value = 240, unit = TimeUnit.SECONDS)
@Tag("slow")
class DynamicAllocationTest {
    private static final int EXECUTORS = 3;
    private static final int HOLDERS = 2;
    private static final int RECORDS = 1000;
    private static final int KEYS = 7;

    @TempDir
    Path signals;

    private static Cluster start(String... settings) {
        Map<String, String> all = new HashMap<>(Cluster.settings(settings));
        all.putAll(Cluster.settings(
                "spark.dynamicAllocation.enabled", "true",
                "spark.dynamicAllocation.minExecutors", "0",
                "spark.dynamicAllocation.maxExecutors", Integer.toString(EXECUTORS),
                "spark.dynamicAllocation.executorIdleTimeout", "1s",
                "spark.executor.cores", "1"));
        return Cluster.executors(EXECUTORS, Cluster.OURS, all);
    }

    /** Map tasks that wait for one another, so that each runs on an executor of its own. */
    private JavaPairRDD<Integer, Integer> shuffle(Cluster cluster) {
        Signal signal = new Signal(signals);
        return cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), HOLDERS)
                .mapPartitionsToPair(numbers -> {
                    meet(signal, "maps", HOLDERS);
                    List<Tuple2<Integer, Integer>> pairs = new ArrayList<>();
                    numbers.forEachRemaining(i -> pairs.add(new Tuple2<>(i % KEYS, i)));
                    return pairs.iterator();
                })
                .partitionBy(new HashPartitioner(4));
    }

    private static void meet(Signal signal, String name, int tasks) {
        signal.fromTask(name);
        signal.await(name, tasks);
    }

    private static void assertSums(JavaPairRDD<Integer, Integer> shuffled) {
        Map<Integer, Integer> sums = new HashMap<>();
        shuffled.collect().forEach(pair -> sums.merge(pair._1(), pair._2(), Integer::sum));
        assertThat(sums)
                .isEqualTo(IntStream.range(0, RECORDS)
                        .boxed()
                        .collect(Collectors.groupingBy(i -> i % KEYS, Collectors.summingInt(i -> i))));
    }

    private static Set<String> executorsOf(TaskLog log) {
        return log.mapTasks().stream()
                .map(end -> end.taskInfo().executorId())
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static void awaitRemoved(TaskLog log, Set<String> executors) {
        assertThat(Await.within(60, () -> log.removedExecutors().containsAll(executors)))
                .as("removed executors: %s, expected: %s", log.removedExecutors(), executors)
                .isTrue();
    }

    @Test
    void shouldKeepExecutorsWhoseMapOutputsMayBeReadAndReleaseTheOthers() {
        try (Cluster cluster = start("spark.dynamicAllocation.shuffleTracking.enabled", "true")) {
            TaskLog log = TaskLog.of(cluster);
            Set<String> holders = assertHoldersAreKept(cluster, log);
            // Once nobody can ask for the shuffle, Spark drops it, and its executors with it.
            assertThat(Await.within(60, () -> {
                        System.gc();
                        return log.removedExecutors().containsAll(holders);
                    }))
                    .as("removed executors: %s, expected: %s", log.removedExecutors(), holders)
                    .isTrue();
            assertNoFiles(cluster);
        }
    }

    private Set<String> assertHoldersAreKept(Cluster cluster, TaskLog log) {
        Counted counted = Counted.fromNow();
        JavaPairRDD<Integer, Integer> shuffled = shuffle(cluster);
        assertSums(shuffled);
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
        Set<String> holders = executorsOf(log);
        assertThat(holders).hasSize(HOLDERS);

        // Work for all that there may be; from its end on all are idle.
        Signal signal = new Signal(signals);
        List<String> all = cluster.context()
                .parallelize(IntStream.range(0, EXECUTORS).boxed().toList(), EXECUTORS)
                .map(i -> {
                    meet(signal, "busy", EXECUTORS);
                    return SparkEnv.get().executorId();
                })
                .collect();
        assertThat(all).doesNotHaveDuplicates().containsAll(holders);
        Set<String> others = new TreeSet<>(all);
        others.removeAll(holders);
        awaitRemoved(log, others);

        log.forgetTasks();
        Counted again = Counted.fromNow();
        assertSums(shuffled);
        assertThat(log.mapTasks()).as("map tasks").isEmpty();
        assertThat(again.of(ShuffleCounter.READ_MAPPED_BYTES) + again.of(ShuffleCounter.READ_SELF_BYTES))
                .as("%s", again)
                .isPositive();
        assertThat(log.removedExecutors()).doesNotContainAnyElementsOf(holders);
        return holders;
    }

    private static void assertNoFiles(Cluster cluster) {
        assertThat(Await.within(20, () -> cluster.sharedMemory().files().isEmpty()))
                .as("files: %s", cluster.sharedMemory().files())
                .isTrue();
    }

    @Test
    void shouldComputeAgainWhatWentWithAnExecutor() {
        try (Cluster cluster = start(
                "spark.dynamicAllocation.shuffleTracking.enabled",
                "true",
                "spark.dynamicAllocation.shuffleTracking.timeout",
                "1s")) {
            TaskLog log = TaskLog.of(cluster);
            JavaPairRDD<Integer, Integer> shuffled = shuffle(cluster);
            assertSums(shuffled);
            Set<String> holders = executorsOf(log);
            assertThat(holders).hasSize(HOLDERS);
            awaitRemoved(log, holders);
            assertNoFiles(cluster);

            log.forgetTasks();
            Counted counted = Counted.fromNow();
            assertSums(shuffled);
            assertThat(log.mapTasks()).as("map tasks").hasSizeGreaterThanOrEqualTo(HOLDERS);
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .as("%s", counted)
                    .isPositive();
        }
    }

    /** The service serves map outputs of executors that have gone, which only files can survive. */
    @Test
    void shouldLeaveShufflesToSparkBesideAnExternalShuffleService() throws IOException {
        int port = Ports.free();
        SparkConf conf = new SparkConf(false).set("spark.shuffle.service.port", Integer.toString(port));
        ExternalShuffleService service = new ExternalShuffleService(
                conf, new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE()));
        service.start();
        try (CapturedLog lines = new CapturedLog(RdmaShuffleManager.class);
                Cluster cluster = start(
                        "spark.shuffle.service.enabled",
                        "true",
                        "spark.shuffle.service.port",
                        Integer.toString(port))) {
            TaskLog log = TaskLog.of(cluster);
            Counted counted = Counted.fromNow();
            JavaPairRDD<Integer, Integer> shuffled = shuffle(cluster);
            assertSums(shuffled);
            Set<String> holders = executorsOf(log);
            assertThat(holders).hasSize(HOLDERS);
            assertThat(lines.lines())
                    .singleElement(InstanceOfAssertFactories.STRING)
                    .contains("reason=EXTERNAL_SHUFFLE_SERVICE:", "spark.shuffle.service.enabled=true");
            awaitRemoved(log, holders);

            log.forgetTasks();
            assertSums(shuffled);
            assertThat(log.tasks()).as("reduce tasks").hasSize(4);
            assertThat(log.mapTasks()).as("map tasks").isEmpty();
            for (ShuffleCounter counter : ShuffleCounter.values()) {
                assertThat(counted.of(counter)).as(counter.label()).isZero();
            }
            assertThat(cluster.sharedMemory().files()).isEmpty();
        } finally {
            service.stop();
        }
    }
}
