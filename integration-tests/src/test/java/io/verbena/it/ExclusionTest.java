package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** Spark trusts an executor no more from which a fetch failed: it kills it, and runs its map tasks elsewhere. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@Tag("slow")
class ExclusionTest {
    private static final List<Integer> EXPECTED =
            IntStream.range(0, 4000).boxed().toList();

    @Test
    void shouldRunTheMapTasksOfAnExcludedExecutorElsewhere() {
        try (Cluster cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                        "spark.speculation", "true",
                        "spark.excludeOnFailure.enabled", "true",
                        "spark.excludeOnFailure.application.fetchFailure.enabled", "true",
                        "spark.excludeOnFailure.killExcludedExecutors", "true"))) {
            cluster.awaitExecutors();
            TaskLog log = TaskLog.of(cluster);
            JavaPairRDD<Integer, Integer> shuffled = cluster.context()
                    .parallelize(EXPECTED, 4)
                    .mapToPair(i -> new Tuple2<>(i, i))
                    .partitionBy(new HashPartitioner(5));
            Counted counted = Counted.fromNow();
            assertThat(shuffled.values().collect()).containsExactlyInAnyOrderElementsOf(EXPECTED);
            assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                    .as("%s", counted)
                    .isPositive();
            String executor = log.mapTasks().get(0).taskInfo().executorId();
            int shuffleId =
                    ((ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().apply(0)).shuffleId();
            ExecutorProbe.forget(cluster.context(), 2, executor, shuffleId);

            log.forgetTasks();
            assertThat(shuffled.values().collect()).containsExactlyInAnyOrderElementsOf(EXPECTED);
            assertThat(log.mapTasks())
                    .as("map tasks that ran again")
                    .isNotEmpty()
                    .noneMatch(end -> end.taskInfo().executorId().equals(executor));
            assertThat(log.excludedExecutors()).containsExactly(executor);
            assertThat(Await.within(60, () -> log.removedExecutors().contains(executor)))
                    .as("the excluded executor was killed")
                    .isTrue();
            // Another one takes its place, and both know the shuffle's new map outputs.
            cluster.awaitExecutors();
            assertThat(shuffled.values().collect()).containsExactlyInAnyOrderElementsOf(EXPECTED);
        }
    }
}
