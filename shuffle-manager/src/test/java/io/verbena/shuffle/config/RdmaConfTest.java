package io.verbena.shuffle.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.transport.verbs.VerbsOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RdmaConfTest {
    private static final long KIB = 1L << 10;
    private static final long MIB = 1L << 20;
    private static final long GIB = 1L << 30;

    @Test
    void shouldHaveDocumentedDefaults() {
        RdmaConf conf = RdmaConf.from(new SparkConf(false));

        assertThat(conf.enabled()).isTrue();
        assertThat(conf.memorySize()).isEqualTo(GIB);
        assertThat(conf.segmentSize()).isEqualTo(64 * MIB);
        assertThat(conf.prewarm()).isEqualTo(128 * MIB);
        assertThat(conf.highWaterMark()).isEqualTo(0.85);
        assertThat(conf.backing()).isEqualTo(MemoryBacking.AUTO);
        assertThat(conf.shmDirectory()).isEqualTo("/dev/shm");
        assertThat(conf.hugetlbfsDirectory()).isNull();
        assertThat(conf.trimIdleMs()).isEqualTo(60_000);
        assertThat(conf.exactLeakTracking()).isFalse();
        assertThat(conf.stagingSize()).isEqualTo(8 * MIB);
        assertThat(conf.followSparkCompression()).isFalse();
        assertThat(conf.mappedEnabled()).isTrue();
        assertThat(conf.verbsEnabled()).isTrue();
        assertThat(conf.verbsOptions(List.of())).isEqualTo(VerbsOptions.defaults(conf.memorySize() + 256 * MIB));
        assertThat(conf.verbsFileCache()).isEqualTo(256 * MIB);
        assertThat(conf.verbsRetryIntervalMs()).isEqualTo(30_000);
        assertThat(conf.fetchTimeoutMs()).isEqualTo(600_000);
        assertThat(conf.maxBytesInFlight()).isEqualTo(48 * MIB);
        assertThat(conf.sortEnabled()).isTrue();
        assertThat(conf.pairsEnabled()).isTrue();
        assertThat(conf.leaseIdleMs()).isEqualTo(2_000);
    }

    @ParameterizedTest
    @CsvSource({
        "yarn, , false",
        "yarn, true, true",
        "yarn, false, false",
        "k8s://https://host, , true",
        "spark://host:7077, , true",
        "spark://host:7077, false, false"
    })
    void shouldMapNeighboursOnYarnOnlyIfToldTo(String master, String set, boolean expected) {
        SparkConf spark = set == null ? conf() : conf("mapped.enabled", set);

        assertThat(RdmaConf.from(spark.set("spark.master", master)).mappedEnabled())
                .isEqualTo(expected);
    }

    @Test
    void shouldReadEveryKey() {
        SparkConf spark = conf(
                "enabled", "false",
                "memory.size", "2g",
                "memory.segmentSize", "32m",
                "memory.prewarm", "0",
                "memory.highWaterMark", "0.5",
                "memory.backing", "hugetlbfs",
                "memory.shmDirectory", "/mnt/shm",
                "memory.hugetlbfsDirectory", "/mnt/huge",
                "memory.trimIdle", "5s",
                "memory.leakTracking", "exact",
                "writer.stagingSize", "512k",
                "compression", "spark",
                "mapped.enabled", "false",
                "verbs.enabled", "false",
                "verbs.interfaces", "mlx5_0, 10.0.0.1",
                "verbs.port", "7000",
                "verbs.queueDepth", "32",
                "verbs.maxReadSize", "64k",
                "verbs.maxBytesInFlight", "8m",
                "verbs.lease.timeout", "10s",
                "verbs.trafficClass", "106",
                "verbs.ackTimeout", "14",
                "verbs.library", "system",
                "verbs.fileCache", "16m",
                "verbs.retry.interval", "5min",
                "fetch.timeout", "2min",
                "fetch.maxBytesInFlight", "4m",
                "sort.enabled", "false",
                "pairs.enabled", "false",
                "lease.idle", "250ms");
        assertThat(spark.getAll()).as("a new key belongs in this test").hasSameSizeAs(RdmaConf.keys());

        RdmaConf conf = RdmaConf.from(spark);

        assertThat(conf.enabled()).isFalse();
        assertThat(conf.memorySize()).isEqualTo(2 * GIB);
        assertThat(conf.segmentSize()).isEqualTo(32 * MIB);
        assertThat(conf.prewarm()).isZero();
        assertThat(conf.highWaterMark()).isEqualTo(0.5);
        assertThat(conf.backing()).isEqualTo(MemoryBacking.HUGETLBFS);
        assertThat(conf.backing().kind()).isEqualTo("hugetlbfs");
        assertThat(conf.shmDirectory()).isEqualTo("/mnt/shm");
        assertThat(conf.hugetlbfsDirectory()).isEqualTo("/mnt/huge");
        assertThat(conf.trimIdleMs()).isEqualTo(5_000);
        assertThat(conf.exactLeakTracking()).isTrue();
        assertThat(conf.stagingSize()).isEqualTo(512 * KIB);
        assertThat(conf.followSparkCompression()).isTrue();
        assertThat(conf.mappedEnabled()).isFalse();
        assertThat(conf.verbsEnabled()).isFalse();
        assertThat(conf.verbsOptions(List.of(Path.of("/local"))))
                .isEqualTo(new VerbsOptions(
                        true,
                        List.of(Path.of("/local")),
                        List.of("mlx5_0", "10.0.0.1"),
                        7000,
                        2 * GIB + 16 * MIB,
                        32,
                        (int) (64 * KIB),
                        8 * MIB,
                        Duration.ofSeconds(10),
                        VerbsOptions.DEFAULT_SPIN_NANOS,
                        106,
                        14));
        assertThat(conf.verbsFileCache()).isEqualTo(16 * MIB);
        assertThat(conf.verbsRetryIntervalMs()).isEqualTo(300_000);
        assertThat(conf.fetchTimeoutMs()).isEqualTo(120_000);
        assertThat(conf.maxBytesInFlight()).isEqualTo(4 * MIB);
        assertThat(conf.sortEnabled()).isFalse();
        assertThat(conf.pairsEnabled()).isFalse();
        assertThat(conf.leaseIdleMs()).isEqualTo(250);
    }

    @ParameterizedTest
    @CsvSource({
        "memory.backing, SHM",
        "memory.backing, ' shm '",
        "memory.segmentSize, 67108864",
        "memory.highWaterMark, 1",
        "memory.size, 16m",
        "memory.size, 1t",
        "memory.prewarm, 1g",
        "memory.trimIdle, 1d",
        "lease.idle, 100",
        "enabled, TRUE"
    })
    void shouldAcceptBoundsAndSpellings(String suffix, String value) {
        assertThat(RdmaConf.from(conf(suffix, value))).isNotNull();
    }

    @ParameterizedTest
    @CsvSource({
        "enabled, yes, true or false",
        "enabled, '', true or false",
        "memory.size, 15m, 16m to 1t",
        "memory.size, 2t, 16m to 1t",
        "memory.size, -64m, 16m to 1t",
        "memory.size, 1.5g, 16m to 1t",
        "memory.size, 9999999p, 16m to 1t",
        "memory.size, 64 megabytes, 16m to 1t",
        "memory.segmentSize, 48m, 'a power of two'",
        "memory.segmentSize, 2g, 1m to 1g",
        "memory.prewarm, none, 0 to 1t",
        "memory.highWaterMark, 85, 0.1 to 1.0",
        "memory.highWaterMark, NaN, 0.1 to 1.0",
        "memory.highWaterMark, 85%, 0.1 to 1.0",
        "memory.backing, hugepages, 'one of auto, hugetlbfs, shm, plain'",
        "memory.shmDirectory, dev/shm, an absolute path",
        "memory.shmDirectory, '', an absolute path",
        "memory.hugetlbfsDirectory, huge, an absolute path or empty",
        "memory.trimIdle, 10ms, 1s to 1d",
        "memory.trimIdle, soon, 1s to 1d",
        "memory.leakTracking, off, 'one of cheap, exact'",
        "writer.stagingSize, 1k, 64k to 256m",
        "compression, lz4, 'one of auto, spark'",
        "mapped.enabled, 1, true or false",
        "verbs.fileCache, -1, 0 to 1t",
        "verbs.retry.interval, 0, 1s to 1d",
        "fetch.timeout, 2h, 1s to 1h",
        "fetch.timeout, -5s, 1s to 1h",
        "fetch.maxBytesInFlight, 0, 1m to 1g",
        "lease.idle, 0s, 100ms to 1h"
    })
    void shouldRefuseBadValueWithKeyValueAndRange(String suffix, String value, String range) {
        assertThatThrownBy(() -> RdmaConf.from(conf(suffix, value)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("problems=1;")
                .hasMessageContaining("spark.shuffle.rdma." + suffix + "=" + value + " ")
                .hasMessageContaining("allowed: ")
                .hasMessageContaining(range);
    }

    @ParameterizedTest
    @CsvSource({
        "memory.siez, memory.size",
        "memory.segmentsize, memory.segmentSize",
        "mappedEnabled, mapped.enabled",
        "fetch.maxSizeInFlight, fetch.maxBytesInFlight",
        "Compression, compression"
    })
    void shouldRefuseUnknownKeyWithClosestKnownKey(String suffix, String closest) {
        assertThatThrownBy(() -> RdmaConf.from(conf(suffix, "1")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("spark.shuffle.rdma." + suffix
                        + "=1 is not a known key, closest: spark.shuffle.rdma." + closest);
    }

    @ParameterizedTest
    @CsvSource({
        "memory.segmentSize, 128m, memory.size, 64m",
        "memory.prewarm, 65m, memory.size, 64m",
        "writer.stagingSize, 16m, memory.segmentSize, 8m"
    })
    void shouldRefuseSetSizeLargerThanItsLimit(String suffix, String value, String limitSuffix, String limit) {
        assertThatThrownBy(() -> RdmaConf.from(conf(suffix, value, limitSuffix, limit)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("problems=1;")
                .hasMessageContaining("spark.shuffle.rdma." + suffix + "=" + value + " is more than spark.shuffle.rdma."
                        + limitSuffix + "=" + limit)
                .hasMessageContaining("at most " + limitSuffix);
    }

    @Test
    void shouldRefuseSetSizeLargerThanDefaultLimit() {
        assertThatThrownBy(() -> RdmaConf.from(conf("memory.prewarm", "2g")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is more than spark.shuffle.rdma.memory.size=1073741824b");
    }

    @Test
    void shouldFitUnsetSizesToSmallBudget() {
        RdmaConf conf = RdmaConf.from(conf("memory.size", "50m"));

        assertThat(conf.segmentSize()).isEqualTo(32 * MIB);
        assertThat(conf.prewarm()).isEqualTo(32 * MIB);
        assertThat(RdmaConf.from(conf("memory.segmentSize", "4m")).stagingSize())
                .isEqualTo(4 * MIB);
    }

    @Test
    void shouldReportAllProblemsAtOnce() {
        SparkConf spark = conf(
                "memory.size", "lots",
                "memory.segmentSize", "3m",
                "compresion", "auto",
                "writer.stagingSize", "2m",
                "lease.idle", "never");

        assertThatThrownBy(() -> RdmaConf.from(spark))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("problems=4;")
                .hasMessageContaining("memory.size=lots")
                .hasMessageContaining("memory.segmentSize=3m")
                .hasMessageContaining("compresion=auto")
                .hasMessageContaining("lease.idle=never");
    }

    @Test
    void shouldIgnoreKeysOutsideItsPrefix() {
        SparkConf spark = new SparkConf(false)
                .set("spark.shuffle.rdmaX", "1")
                .set("spark.shuffle.compress", "false")
                .set("spark.app.name", "test");

        assertThat(RdmaConf.from(spark).memorySize()).isEqualTo(GIB);
    }

    @Test
    void shouldNotSeeLaterChangesOfSparkConf() {
        SparkConf spark = conf("memory.size", "64m");
        RdmaConf conf = RdmaConf.from(spark);

        spark.set("spark.shuffle.rdma.memory.size", "128m");

        assertThat(conf.memorySize()).isEqualTo(64 * MIB);
    }

    private static SparkConf conf(String... suffixesAndValues) {
        SparkConf conf = new SparkConf(false);
        for (int i = 0; i < suffixesAndValues.length; i += 2) {
            conf.set("spark.shuffle.rdma." + suffixesAndValues[i], suffixesAndValues[i + 1]);
        }
        return conf;
    }
}
