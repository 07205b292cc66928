package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Barrier stages, whose tasks run at the same time and are all run again when one fails, between shuffles. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@Tag("slow")
class BarrierTest {
    private static final int RECORDS = 4000;
    private static final int MAPS = 4;
    private static final int TASKS = 2;

    @TempDir
    Path signals;

    /** Makes the stage a barrier stage. */
    private static final class Same<T>
            extends AbstractFunction1<scala.collection.Iterator<T>, scala.collection.Iterator<T>>
            implements Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public scala.collection.Iterator<T> apply(scala.collection.Iterator<T> records) {
            return records;
        }
    }

    /**
     * Reads all of its partition, tells the other tasks the sum, and passes each record on with what all have told. In the first
     * attempt one task fails then, when the test says so.
     */
    private static Iterator<Tuple2<Integer, String>> meet(Iterator<Tuple2<Integer, Integer>> pairs, Signal signal) {
        List<Integer> values = new ArrayList<>();
        pairs.forEachRemaining(pair -> values.add(pair._2()));
        BarrierTaskContext task = BarrierTaskContext.get();
        String sum = Integer.toString(values.stream().mapToInt(i -> i).sum());
        String told = String.join("+", task.allGather(sum));
        if (task.stageAttemptNumber() == 0 && task.partitionId() == 1) {
            signal.await("fail", 1);
            throw new IllegalStateException("thrown by the test in the first attempt");
        }
        return values.stream().map(i -> new Tuple2<>(i, told)).iterator();
    }

    /** Four map tasks, two barrier tasks, and five that read from them. */
    private static JavaFutureAction<List<Tuple2<Integer, String>>> job(Cluster cluster, Signal signal) {
        JavaPairRDD<Integer, Integer> shuffled = cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), MAPS)
                .mapToPair(i -> new Tuple2<>(i, i))
                .partitionBy(new HashPartitioner(TASKS));
        return shuffled.rdd()
                .barrier()
                .mapPartitions(new Same<>(), false, ClassTag$.MODULE$.<Tuple2<Integer, Integer>>apply(Tuple2.class))
                .toJavaRDD()
                .mapPartitionsToPair(pairs -> meet(pairs, signal))
                .partitionBy(new HashPartitioner(5))
                .map(pair -> pair)
                .collectAsync();
    }

    private static void assertMet(List<Tuple2<Integer, String>> records) {
        assertThat(records.stream().map(Tuple2::_1).sorted())
                .isEqualTo(IntStream.range(0, RECORDS).boxed().toList());
        String told = Stream.of(0, 1)
                .map(remainder -> Integer.toString(IntStream.range(0, RECORDS)
                        .filter(i -> i % TASKS == remainder)
                        .sum()))
                .reduce((a, b) -> a + "+" + b)
                .orElseThrow();
        assertThat(records.stream().map(Tuple2::_2).distinct()).isEqualTo(List.of(told));
    }

    private static List<SparkListenerTaskEnd> barrierTasks(TaskLog log, int attempt) {
        return log.mapTasks().stream()
                .filter(end -> end.taskMetrics() != null
                        && end.taskMetrics().shuffleReadMetrics().recordsRead() > 0)
                .filter(end -> end.stageAttemptId() == attempt)
                .toList();
    }

    private static long ended(List<SparkListenerTaskEnd> tasks) {
        return tasks.stream().filter(end -> end.taskInfo().successful()).count();
    }

    /** The output of the first attempt's task that did not fail stays behind, and nobody may read it. */
    @Test
    void shouldReadAndWriteAgainWhenABarrierStageIsRetried() throws Exception {
        try (Cluster cluster = Cluster.twoExecutors(
                Cluster.OURS, Cluster.settings("spark.serializer", "org.apache.spark.serializer.KryoSerializer"))) {
            cluster.awaitExecutors();
            TaskLog log = TaskLog.of(cluster);
            Signal signal = new Signal(signals);
            Counted counted = Counted.fromNow();
            JavaFutureAction<List<Tuple2<Integer, String>>> job = job(cluster, signal);
            assertThat(Await.within(60, () -> ended(barrierTasks(log, 0)) == 1))
                    .as("one barrier task has written its output")
                    .isTrue();
            signal.raise("fail", "");
            assertMet(job.get(60, TimeUnit.SECONDS));

            assertThat(barrierTasks(log, 0)).as("first attempt").hasSize(TASKS);
            assertThat(ended(barrierTasks(log, 1))).as("second attempt").isEqualTo(TASKS);
            assertThat(log.mapTasks()).hasSize(MAPS + 2 * TASKS);
            assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                    .as("%s", counted)
                    .isPositive();
            cluster.assertNoFetchFailures();
        }
    }
}
