package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** More data than memory: what does not fit goes to disk, results stay the same, and the figures say how much it was. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
class PressureTest {
    private static final long MEMORY = 64L << 20;

    private static Map<String, String> settings(String highWaterMark) {
        return Cluster.settings(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.shuffle.rdma.memory.size", MEMORY + "b",
                "spark.shuffle.rdma.memory.segmentSize", "16m",
                "spark.shuffle.rdma.writer.stagingSize", "2m",
                "spark.shuffle.rdma.memory.highWaterMark", highWaterMark,
                // Readers keep their directories through evictions.
                "spark.shuffle.rdma.lease.idle", "60s");
    }

    /** Three times the memory of both executors together. Without eviction, so that all that goes to disk is overflow. */
    @Test
    void shouldFinishAShuffleThreeTimesTheMemory() {
        int rows = 400_000;
        int rowBytes = 1024;
        Counted counted = Counted.fromNow();
        try (Cluster cluster = Cluster.twoExecutors(Cluster.OURS, settings("1.0"))) {
            String result = cluster.sql()
                    .range(0, rows, 1, 16)
                    .selectExpr("id", "repeat(lpad(cast(id AS string), 16, '0'), " + rowBytes / 16 + ") AS text")
                    .repartition(10, org.apache.spark.sql.functions.col("id"))
                    .selectExpr("count(*)", "sum(id)", "sum(crc32(text))")
                    .collectAsList()
                    .toString();
            assertThat(result)
                    .isEqualTo(
                            "[[" + rows + "," + (long) rows * (rows - 1) / 2 + "," + checksum(rows, rowBytes) + "]]");
            long inMemory = counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES);
            long overflowed = counted.of(ShuffleCounter.OVERFLOWED_MAP_OUTPUTS);
            assertThat((long) rows * rowBytes).isGreaterThan(3 * 2 * MEMORY);
            // A map output is 25 MiB and is in memory as a whole or not at all: two at most per executor.
            assertThat(inMemory).as("%s", counted).isBetween(MEMORY / 4, 2 * MEMORY);
            assertThat(overflowed).as("%s", counted).isBetween(12L, 15L);
            assertThat(counted.of(ShuffleCounter.OVERFLOWED_BYTES)).isPositive();
            assertThat(counted.of(ShuffleCounter.READ_LOCAL_FILE_BYTES) + counted.of(ShuffleCounter.READ_NETTY_BYTES))
                    .as("everything on disk was read: %s", counted)
                    .isGreaterThanOrEqualTo(counted.of(ShuffleCounter.OVERFLOWED_BYTES));
            cluster.assertNoFetchFailures();
            assertThat(cluster.states()).allSatisfy(state -> {
                assertThat(state.committedBytes()).isLessThanOrEqualTo(MEMORY);
                assertThat(state.counter(ShuffleCounter.EVICTED_BYTES)).isZero();
            });
        }
    }

    private static long checksum(int rows, int rowBytes) {
        long sum = 0;
        CRC32 crc = new CRC32();
        for (int id = 0; id < rows; id++) {
            String text = String.valueOf(id);
            byte[] bytes = ("0".repeat(16 - text.length()) + text)
                    .repeat(rowBytes / 16)
                    .getBytes(StandardCharsets.US_ASCII);
            crc.reset();
            crc.update(bytes);
            sum += crc.getValue();
        }
        return sum;
    }

    @Test
    void shouldReadEvictedShufflesWhetherOrNotTheReaderKnewThem() {
        try (Cluster cluster = Cluster.twoExecutors(Cluster.OURS, settings("0.5"))) {
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
            assertThat(Cluster.within(30, () -> evicted(cluster) >= 2 * MEMORY / 4))
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
