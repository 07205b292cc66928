package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Barrier stages, whose tasks run at the same time and are all run again when one fails, between shuffles. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class BarrierTest {
    private static final int RECORDS = 4000;
    private static final int TASKS = 2;

    private Cluster cluster;
    private TaskLog log;

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(
                Cluster.OURS, Cluster.settings("spark.serializer", "org.apache.spark.serializer.KryoSerializer"));
        cluster.awaitExecutors();
        log = TaskLog.of(cluster);
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @BeforeEach
    void forget() {
        log.forgetTasks();
    }

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
     * Reads all of its partition, tells the other tasks the sum, and passes each record on with what all have told. One task of the
     * first attempt fails then.
     *
     * @param together whether no task may end before all have met once more, so that none is done when one fails
     */
    private static Iterator<Tuple2<Integer, String>> meet(Iterator<Tuple2<Integer, Integer>> pairs, boolean together) {
        List<Integer> values = new ArrayList<>();
        pairs.forEachRemaining(pair -> values.add(pair._2()));
        BarrierTaskContext task = BarrierTaskContext.get();
        String sum = Integer.toString(values.stream().mapToInt(i -> i).sum());
        String told = String.join("+", task.allGather(sum));
        if (task.stageAttemptNumber() == 0 && task.partitionId() == 1) {
            throw new IllegalStateException("thrown by the test in the first attempt");
        }
        if (together) {
            task.barrier();
        }
        return values.stream().map(i -> new Tuple2<>(i, told)).iterator();
    }

    private JavaRDD<Tuple2<Integer, String>> meeting(boolean together) {
        JavaPairRDD<Integer, Integer> shuffled = cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 4)
                .mapToPair(i -> new Tuple2<>(i, i))
                .partitionBy(new HashPartitioner(TASKS));
        return shuffled.rdd()
                .barrier()
                .mapPartitions(new Same<>(), false, ClassTag$.MODULE$.<Tuple2<Integer, Integer>>apply(Tuple2.class))
                .toJavaRDD()
                .mapPartitions(pairs -> meet(pairs, together));
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

    private long meetings() {
        return log.tasks().stream()
                .filter(end -> end.taskMetrics() != null
                        && end.taskMetrics().shuffleReadMetrics().recordsRead() > 0)
                .map(end -> end.stageId() + "." + end.stageAttemptId())
                .distinct()
                .count();
    }

    @Test
    void shouldReadAgainWhenABarrierStageIsRetried() {
        Counted counted = Counted.fromNow();
        assertMet(meeting(true).collect());
        assertThat(meetings()).as("attempts of the barrier stage").isEqualTo(2);
        assertThat(log.mapTasks()).as("map tasks").hasSize(4);
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                .as("%s", counted)
                .isPositive();
        cluster.assertNoFetchFailures();
        cluster.assertNothingHeld();
    }

    /** The outputs of the first attempt's task that did not fail stay behind, and nobody may read them. */
    @Test
    void shouldWriteAgainWhenABarrierStageIsRetried() {
        Counted counted = Counted.fromNow();
        assertMet(meeting(false)
                .mapToPair(record -> record)
                .partitionBy(new HashPartitioner(5))
                .map(pair -> pair)
                .collect());
        assertThat(log.mapTasks()).as("map tasks: 4, 2 of the first attempt, 2").hasSize(8);
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                .as("%s", counted)
                .isPositive();
        cluster.assertNoFetchFailures();
        cluster.assertNothingHeld();
    }
}
