package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Reference;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** Encryption, authentication and compression, in all combinations that change how blocks lie in memory. */
@Timeout(value = 240, unit = TimeUnit.SECONDS)
@Tag("slow")
class ProtectionTest {
    private static final String MARKER = "plain-marker-of-the-test";
    private static final int RECORDS = 4000;
    private static final String KRYO = "org.apache.spark.serializer.KryoSerializer";
    private static final String JAVA = "org.apache.spark.serializer.JavaSerializer";

    /** Shuffles rows and records and compares both; the records stay in memory as long as the returned RDD is reachable. */
    private static JavaPairRDD<Integer, String> assertShuffles(Cluster cluster) {
        JavaPairRDD<Integer, String> records = cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 4)
                .mapToPair(i -> new Tuple2<>(i % 50, MARKER + i))
                .partitionBy(new org.apache.spark.HashPartitioner(6));
        List<String> values = records.values().collect();
        assertThat(values)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, RECORDS).mapToObj(i -> MARKER + i).toList());
        List<String> rows = cluster
                .sql()
                .range(0, RECORDS, 1, 4)
                .selectExpr("id % 7 AS k", "id", "concat('" + MARKER + "', id) AS text")
                .groupBy("k")
                .agg(
                        org.apache.spark.sql.functions.expr("sum(id)"),
                        org.apache.spark.sql.functions.expr("max(length(text))"))
                .orderBy("k")
                .collectAsList()
                .stream()
                .map(Object::toString)
                .toList();
        assertThat(rows)
                .isEqualTo(LongStream.range(0, 7)
                        .mapToObj(k -> "[" + k + ","
                                + LongStream.range(0, RECORDS)
                                        .filter(i -> i % 7 == k)
                                        .sum() + "," + (MARKER.length() + 4) + "]")
                        .toList());
        return records;
    }

    private static boolean sharedMemoryContains(Cluster cluster, String text) {
        List<Path> files = cluster.sharedMemory().files();
        assertThat(files).as("files in shared memory").isNotEmpty();
        return files.stream().anyMatch(file -> contains(file, text));
    }

    private static boolean contains(Path file, String text) {
        byte[] wanted = text.getBytes(StandardCharsets.UTF_8);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            MappedByteBuffer bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            for (int start = 0; start + wanted.length <= bytes.capacity(); start++) {
                int matched = 0;
                while (matched < wanted.length && bytes.get(start + matched) == wanted[matched]) {
                    matched++;
                }
                if (matched == wanted.length) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @CsvSource({
        // Plain memory shows the marker, which proves that the search would find it in the others.
        "false, auto, true, " + KRYO + ", true",
        "false, spark, false, " + KRYO + ", true",
        "false, spark, true, " + KRYO + ", any",
        "true, auto, true, " + KRYO + ", false",
        "true, spark, true, " + KRYO + ", false",
        "true, spark, false, " + KRYO + ", false",
        "false, auto, false, " + JAVA + ", true",
        "true, auto, true, " + JAVA + ", false",
        "true, auto, false, " + JAVA + ", false"
    })
    void shouldKeepInMemoryOnlyWhatTheSettingsAllow(
            boolean encrypt, String compression, boolean compress, String serializer, String visible) {
        Counted counted = Counted.fromNow();
        try (Cluster cluster = Cluster.local(
                Cluster.OURS,
                Cluster.settings(
                        "spark.io.encryption.enabled",
                        Boolean.toString(encrypt),
                        "spark.shuffle.rdma.compression",
                        compression,
                        "spark.shuffle.compress",
                        Boolean.toString(compress),
                        "spark.serializer",
                        serializer))) {
            JavaPairRDD<Integer, String> held = assertShuffles(cluster);
            try {
                if (!visible.equals("any")) {
                    assertThat(sharedMemoryContains(cluster, MARKER)).isEqualTo(Boolean.parseBoolean(visible));
                }
            } finally {
                Reference.reachabilityFence(held);
            }
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
            assertThat(counted.of(ShuffleCounter.READ_SELF_BYTES)).isPositive();
        }
    }

    /** The same bytes with and without compression, so that the setting is seen to matter. */
    @Test
    void shouldTakeLessMemoryWhenBlocksAreCompressed() {
        assertThat(bytesInMemory("spark")).isLessThan(bytesInMemory("auto") / 2);
    }

    private static long bytesInMemory(String compression) {
        Counted counted = Counted.fromNow();
        try (Cluster cluster = Cluster.local(
                Cluster.OURS,
                Cluster.settings("spark.shuffle.rdma.compression", compression, "spark.serializer", KRYO))) {
            assertShuffles(cluster);
            return counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES);
        }
    }

    @ParameterizedTest
    @CsvSource({"true, auto", "false, spark"})
    void shouldServeEncryptedBlocksToAnAuthenticatedNeighbour(boolean mapped, String compression) {
        Map<String, String> settings = Cluster.settings(
                "spark.authenticate", "true",
                "spark.authenticate.secret", "only-for-this-test",
                "spark.network.crypto.enabled", "true",
                "spark.io.encryption.enabled", "true",
                "spark.shuffle.rdma.mapped.enabled", Boolean.toString(mapped),
                "spark.shuffle.rdma.compression", compression,
                "spark.serializer", KRYO);
        Counted counted = Counted.fromNow();
        try (Cluster cluster = Cluster.twoExecutors(Cluster.OURS, settings)) {
            JavaPairRDD<Integer, String> held = assertShuffles(cluster);
            try {
                assertThat(sharedMemoryContains(cluster, MARKER)).isFalse();
            } finally {
                Reference.reachabilityFence(held);
            }
            assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES) > 0)
                    .as("%s", counted)
                    .isEqualTo(mapped);
            assertThat(counted.of(ShuffleCounter.READ_NETTY_BYTES) > 0)
                    .as("%s", counted)
                    .isEqualTo(!mapped);
            cluster.assertNoFetchFailures();
        }
    }
}
