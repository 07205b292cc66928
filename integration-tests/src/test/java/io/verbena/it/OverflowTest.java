package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.apache.spark.HashPartitioner;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** More data than memory: what does not fit goes to disk, results stay the same, and the figures say how much it was. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("slow")
class OverflowTest {
    private static final long MEMORY = 64L << 20;

    private Cluster cluster;
    private Counted counted;

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                        "spark.shuffle.rdma.memory.size", MEMORY + "b",
                        "spark.shuffle.rdma.memory.segmentSize", "16m",
                        "spark.shuffle.rdma.writer.stagingSize", "2m",
                        // No eviction, so that all that goes to disk is overflow.
                        "spark.shuffle.rdma.memory.highWaterMark", "1.0"));
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            try (Cluster closing = cluster) {
                closing.assertNoFetchFailures();
            }
        }
    }

    @BeforeEach
    void count() {
        cluster.assertNothingHeld();
        counted = Counted.fromNow();
    }

    /** Three times the memory of both executors together. Without eviction, so that all that goes to disk is overflow. */
    @Test
    void shouldFinishAShuffleThreeTimesTheMemory() {
        int rows = 400_000;
        int rowBytes = 1024;
        String result = cluster.sql()
                .range(0, rows, 1, 16)
                .selectExpr("id", "repeat(lpad(cast(id AS string), 16, '0'), " + rowBytes / 16 + ") AS text")
                .repartition(10, org.apache.spark.sql.functions.col("id"))
                .selectExpr("count(*)", "sum(id)", "sum(crc32(text))")
                .collectAsList()
                .toString();
        assertThat(result)
                .isEqualTo("[[" + rows + "," + (long) rows * (rows - 1) / 2 + "," + checksum(rows, rowBytes) + "]]");
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
        assertThat(cluster.states()).allSatisfy(state -> {
            assertThat(state.committedBytes()).isLessThanOrEqualTo(MEMORY);
            assertThat(state.counter(ShuffleCounter.EVICTED_BYTES)).isZero();
        });
    }

    /** 70 MiB per block: too large to be copied to the heap as a whole, small enough to come into memory and not to a file. */
    @Test
    void shouldReadLargeBlocksThatOverflowed() {
        int records = 140;
        List<String> hashes = cluster.context()
                .parallelize(List.of(0), 1)
                .flatMapToPair(zero -> IntStream.range(0, records)
                        .mapToObj(i -> new Tuple2<>(i, RddShapes.large(i, 1 << 20)))
                        .iterator())
                .partitionBy(new HashPartitioner(2))
                .map(pair -> pair._1() + ":" + pair._2().hashCode())
                .collect();
        assertThat(hashes)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, records)
                        .mapToObj(i -> i + ":" + RddShapes.large(i, 1 << 20).hashCode())
                        .toList());
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isZero();
        assertThat(counted.of(ShuffleCounter.OVERFLOWED_MAP_OUTPUTS)).isOne();
        // One of the two reducers ran where the file is, the other did not.
        assertThat(counted.of(ShuffleCounter.READ_LOCAL_FILE_BYTES))
                .as("%s", counted)
                .isGreaterThan(64L << 20);
        assertThat(counted.of(ShuffleCounter.READ_NETTY_BYTES))
                .as("%s", counted)
                .isGreaterThan(64L << 20);
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
}
