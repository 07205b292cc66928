package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** Memory above the high-water mark: the coldest shuffles are moved to disk and stay readable. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class EvictionTest {
    private static final long MEMORY = 64L << 20;

    private static Map<String, String> settings() {
        return Cluster.settings(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.shuffle.rdma.memory.size", MEMORY + "b",
                "spark.shuffle.rdma.memory.segmentSize", "16m",
                "spark.shuffle.rdma.writer.stagingSize", "2m",
                "spark.shuffle.rdma.memory.highWaterMark", "0.5",
                // Readers keep their directories through evictions.
                "spark.shuffle.rdma.lease.idle", "60s");
    }

    @Test
    void shouldReadEvictedShufflesWhetherOrNotTheReaderKnewThem() {
        try (Cluster cluster = Cluster.twoExecutors(Cluster.OURS, settings())) {
            List<JavaPairRDD<Integer, String>> shuffles = new ArrayList<>();
            // Each takes a quarter of the memory, and eviction starts at a half.
            for (int s = 0; s < 6; s++) {
                JavaPairRDD<Integer, String> shuffle = shuffle(cluster, s);
                shuffles.add(shuffle);
                if (s % 2 == 0) {
                    assertThat(lengths(shuffle)).as("shuffle %s", s).isEqualTo(expected(s));
                } else {
                    // Written, but only an empty partition of it is read: nobody learns where the rest lies.
                    assertThat(shuffle.collectPartitions(new int[] {4})[0]).isEmpty();
                }
            }
            assertThat(Await.within(30, () -> evicted(cluster) >= 2 * MEMORY / 4))
                    .as("evicted bytes: %s", evicted(cluster))
                    .isTrue();
            Counted counted = Counted.fromNow();
            for (int s = 0; s < 6; s++) {
                assertThat(lengths(shuffles.get(s))).as("shuffle %s again", s).isEqualTo(expected(s));
            }
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .as("nothing was computed again: %s", counted)
                    .isZero();
            assertThat(counted.of(ShuffleCounter.READ_LOCAL_FILE_BYTES))
                    .as("read from files: %s", counted)
                    .isPositive();
            assertThat(counted.of(ShuffleCounter.READ_NETTY_BYTES))
                    .as("files of the other executor: %s", counted)
                    .isPositive();
            cluster.assertNoFetchFailures();
        }
    }

    private static long evicted(Cluster cluster) {
        return cluster.states().stream()
                .mapToLong(state -> state.counter(ShuffleCounter.EVICTED_BYTES))
                .sum();
    }

    /** Keys 0 to 3 of 5 partitions; 32 MiB of text over both executors. */
    private static JavaPairRDD<Integer, String> shuffle(Cluster cluster, int seed) {
        return cluster.context()
                .parallelize(IntStream.range(0, 64).boxed().toList(), 8)
                .mapToPair(i -> new Tuple2<>(i % 4, RddShapes.large(seed * 1000 + i, 1 << 19)))
                .partitionBy(new HashPartitioner(5));
    }

    private static List<String> lengths(JavaPairRDD<Integer, String> shuffle) {
        return shuffle.map(pair -> pair._1() + ":" + pair._2().hashCode()).collect().stream()
                .sorted()
                .toList();
    }

    private static List<String> expected(int seed) {
        return IntStream.range(0, 64)
                .mapToObj(i ->
                        i % 4 + ":" + RddShapes.large(seed * 1000 + i, 1 << 19).hashCode())
                .sorted()
                .toList();
    }
}
