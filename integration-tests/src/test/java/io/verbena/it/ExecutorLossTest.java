package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** One of two executors is killed while both are in the middle of reading from each other. */
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("slow")
class ExecutorLossTest {
    private static final int RECORDS = 20_000;

    @TempDir
    Path signals;

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void shouldFinishTheJobAndLeaveNothingBehind(boolean mapped) throws Exception {
        try (Cluster cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer",
                        "org.apache.spark.serializer.KryoSerializer",
                        "spark.shuffle.rdma.mapped.enabled",
                        Boolean.toString(mapped)))) {
            Signal calm = new Signal(Files.createDirectory(signals.resolve("calm")));
            calm.raise("go", "");
            long began = System.nanoTime();
            assertNumbers(job(cluster, calm));
            long undisturbedNs = System.nanoTime() - began;

            Signal signal = new Signal(Files.createDirectory(signals.resolve("kill")));
            JavaFutureAction<List<Integer>> job = job(cluster, signal);
            signal.await("reading", 2);
            String[] victim = signal.texts("reading").get(0).split(":", 2);
            List<Path> files = cluster.filesOf(victim[0]);
            assertThat(files).as("files of executor %s", victim[0]).isNotEmpty();
            ProcessHandle process = ProcessHandle.of(Long.parseLong(victim[1])).orElseThrow();
            assertThat(ProcessHandle.current().descendants()).contains(process);
            assertThat(process.destroyForcibly()).isTrue();
            assertThat(process.onExit().get(30, TimeUnit.SECONDS).isAlive()).isFalse();
            assertThat(cluster.filesOf(victim[0]))
                    .as("a killed process removes nothing")
                    .isEqualTo(files);

            began = System.nanoTime();
            signal.raise("go", "");
            assertNumbers(job);
            assertThat(System.nanoTime() - began - undisturbedNs)
                    .as("time that the loss cost, in ns")
                    .isLessThan(TimeUnit.SECONDS.toNanos(60));

            // Spark has started another executor, whose first use of memory sweeps the directory.
            List<ExecutorProbe.State> states = cluster.states();
            assertThat(states).hasSize(2).noneMatch(state -> state.executorId().equals(victim[0]));
            assertThat(cluster.filesOf(victim[0]))
                    .as("files of the dead executor")
                    .isEmpty();
            Counted counted = Counted.fromNow();
            Signal afterwards = new Signal(Files.createDirectory(signals.resolve("afterwards")));
            afterwards.raise("go", "");
            assertNumbers(job(cluster, afterwards));
            assertThat(counted.of(mapped ? ShuffleCounter.READ_MAPPED_BYTES : ShuffleCounter.READ_NETTY_BYTES))
                    .as("the new executor is read the same way: %s", counted)
                    .isPositive();
        }
    }

    private static void assertNumbers(JavaFutureAction<List<Integer>> job) throws Exception {
        assertThat(job.get(200, TimeUnit.SECONDS).stream().sorted())
                .isEqualTo(IntStream.range(0, RECORDS).boxed().toList());
    }

    private static JavaFutureAction<List<Integer>> job(Cluster cluster, Signal signal) {
        return cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 6)
                .mapToPair(i -> new Tuple2<>(i, i))
                .partitionBy(new HashPartitioner(4))
                .values()
                .mapPartitions(numbers -> inTheMiddle(numbers, signal))
                .collectAsync();
    }

    /** Reads one record, tells the test, waits for its word, and reads the rest. */
    private static Iterator<Integer> inTheMiddle(Iterator<Integer> numbers, Signal signal) {
        List<Integer> all = new ArrayList<>();
        all.add(numbers.next());
        signal.fromTask("reading");
        signal.await("go", 1);
        numbers.forEachRemaining(all::add);
        return all.iterator();
    }
}
