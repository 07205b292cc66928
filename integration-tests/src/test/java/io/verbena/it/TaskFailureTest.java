package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/** Tasks and outputs that fail while both executors live on: results stay the same and nothing stays held. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class TaskFailureTest {
    private static final int RECORDS = 4000;
    private static final List<Integer> EXPECTED =
            IntStream.range(0, RECORDS).boxed().toList();

    private Cluster cluster;
    private Signal signal;

    @TempDir
    Path signals;

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                        // Small runs, so that a task that fails halfway has written some.
                        "spark.shuffle.rdma.writer.stagingSize", "64k"));
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @BeforeEach
    void newSignal() {
        signal = new Signal(signals);
    }

    @AfterEach
    void assertNothingHeld() {
        cluster.assertNothingHeld();
        assertThat(cluster.states())
                .allSatisfy(state -> assertThat(state.leasedBytes()).isZero());
    }

    /** A hundred bytes per record, so that a map task writes several runs. */
    private JavaPairRDD<Integer, String> pairs() {
        return cluster.context().parallelize(EXPECTED, 4).mapToPair(i -> new Tuple2<>(i, i + "-" + "x".repeat(100)));
    }

    private static int number(Tuple2<Integer, String> pair) {
        return Integer.parseInt(pair._2().substring(0, pair._2().indexOf('-')));
    }

    private static List<Integer> sorted(List<Integer> values) {
        return values.stream().sorted().toList();
    }

    private long fetchFailures() {
        return cluster.states().stream()
                .mapToLong(state -> state.counter(ShuffleCounter.FETCH_FAILURES))
                .sum();
    }

    @Test
    void shouldComputeMapOutputsAgainThatAnExecutorForgot() {
        JavaPairRDD<Integer, String> shuffled = pairs().partitionBy(new HashPartitioner(6));
        assertThat(sorted(shuffled.map(TaskFailureTest::number).collect())).isEqualTo(EXPECTED);
        long before = fetchFailures();
        int shuffleId =
                ((ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().apply(0)).shuffleId();
        String executor = cluster.states().get(0).executorId();
        assertThat(ExecutorProbe.forget(cluster.context(), 2, executor, shuffleId))
                .hasSize(2);
        Counted counted = Counted.fromNow();
        assertThat(sorted(shuffled.map(TaskFailureTest::number).collect())).isEqualTo(EXPECTED);
        assertThat(fetchFailures() - before).as("failed fetches").isPositive();
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                .as("map outputs were written again: %s", counted)
                .isPositive();
    }

    /** Passes values on; the first attempt of partition 1 fails after that many. */
    private static <T> Iterator<T> failing(Iterator<T> values, int after) {
        if (TaskContext.getPartitionId() != 1 || TaskContext.get().attemptNumber() > 0) {
            return values;
        }
        List<T> some = new ArrayList<>();
        while (some.size() < after && values.hasNext()) {
            some.add(values.next());
        }
        Iterator<T> first = some.iterator();
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public T next() {
                if (first.hasNext()) {
                    return first.next();
                }
                throw new IllegalStateException("thrown by the test in the first attempt");
            }
        };
    }

    @Test
    void shouldSurviveAMapTaskThatFailsHalfway() {
        Counted counted = Counted.fromNow();
        List<Integer> numbers = pairs().mapPartitionsToPair(pairs -> failing(pairs, 900))
                .partitionBy(new HashPartitioner(5))
                .map(TaskFailureTest::number)
                .collect();
        assertThat(sorted(numbers)).isEqualTo(EXPECTED);
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES)).isPositive();
    }

    @Test
    void shouldSurviveAReduceTaskThatFailsHalfway() {
        Counted counted = Counted.fromNow();
        List<Integer> numbers = pairs().partitionBy(new HashPartitioner(5))
                .mapPartitions(pairs -> failing(pairs, 700), true)
                .map(TaskFailureTest::number)
                .collect();
        assertThat(sorted(numbers)).isEqualTo(EXPECTED);
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES)).isPositive();
    }

    /** Takes some values, tells the test, and waits for a signal that never comes: until the task is killed. */
    private static <T> Iterator<T> hanging(Iterator<T> values, Signal signal, String name, int after) {
        List<T> some = new ArrayList<>();
        while (some.size() < after && values.hasNext()) {
            some.add(values.next());
        }
        Iterator<T> first = some.iterator();
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public T next() {
                if (first.hasNext()) {
                    return first.next();
                }
                signal.fromTask(name);
                signal.await("never", 1);
                TaskContext.get().killTaskIfInterrupted();
                throw new IllegalStateException("the task was not killed");
            }
        };
    }

    private void assertCancels(JavaFutureAction<?> job, String running) {
        signal.await(running, 2);
        assertThat(job.isDone()).isFalse();
        assertThat(job.cancel(true)).isTrue();
        assertThatThrownBy(() -> job.get(60, TimeUnit.SECONDS))
                .isInstanceOfAny(CancellationException.class, java.util.concurrent.ExecutionException.class);
        // Another job runs as if nothing had been.
        assertThat(sorted(pairs().partitionBy(new HashPartitioner(3))
                        .map(TaskFailureTest::number)
                        .collect()))
                .isEqualTo(EXPECTED);
    }

    @Test
    void shouldGiveEverythingBackWhenAJobIsCancelledWhileItWrites() {
        Signal here = signal;
        assertCancels(
                pairs().mapPartitionsToPair(pairs -> hanging(pairs, here, "writing", 900))
                        .partitionBy(new HashPartitioner(5))
                        .countAsync(),
                "writing");
    }

    @Test
    void shouldGiveEverythingBackWhenAJobIsCancelledWhileItReads() {
        Signal here = signal;
        assertCancels(
                pairs().partitionBy(new HashPartitioner(4))
                        .mapPartitions(pairs -> hanging(pairs, here, "reading", 700), true)
                        .countAsync(),
                "reading");
    }
}
