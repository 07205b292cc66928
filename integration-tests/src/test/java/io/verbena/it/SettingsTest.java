package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.rdma.RdmaShuffleManager;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** What a user can set wrong, and what makes every shuffle Spark's own. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SettingsTest {
    /** Another plugin for shuffle files, which happens to do what Spark does. */
    public static final class OtherDataIo extends LocalDiskShuffleDataIO {
        public OtherDataIo(SparkConf conf) {
            super(conf);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "spark.shuffle.rdma.memory.sise | 1g | closest: spark.shuffle.rdma.memory.size",
                "spark.shuffle.rdma.memory.size | 1m | 16m to 1t",
                "spark.shuffle.rdma.memory.segmentSize | 3m | a power of two",
                "spark.shuffle.rdma.memory.segmentSize | 512m | at most memory.size",
                "spark.shuffle.rdma.memory.highWaterMark | 1.5 | 0.1 to 1",
                "spark.shuffle.rdma.enabled | yes | true",
                "spark.shuffle.rdma.memory.backing | disk | hugetlbfs",
                "spark.shuffle.rdma.fetch.timeout | soon | 1s to 1h",
            })
    void shouldRefuseToStartAndSayWhatIsAllowed(String key, String value, String allowed) {
        assertThatThrownBy(() -> Cluster.local(Cluster.OURS, Cluster.settings(key, value)))
                .rootCause()
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(key)
                .hasMessageContaining(value)
                .hasMessageContaining(allowed);
    }

    @ParameterizedTest
    @CsvSource({
        "spark.shuffle.rdma.enabled, false, DISABLED",
        "spark.shuffle.service.enabled, true, EXTERNAL_SHUFFLE_SERVICE",
        "spark.shuffle.push.enabled, true, PUSH_BASED_SHUFFLE",
        "spark.shuffle.useOldFetchProtocol, true, OLD_FETCH_PROTOCOL",
        "spark.storage.decommission.fallbackStorage.path, file:/nowhere/, FALLBACK_STORAGE",
        "spark.shuffle.sort.io.plugin.class, io.verbena.it.SettingsTest$OtherDataIo, CUSTOM_DATA_IO",
    })
    void shouldLeaveShufflesToSparkAndSayWhy(String key, String value, String reason) {
        Counted counted = Counted.fromNow();
        try (CapturedLog log = new CapturedLog(RdmaShuffleManager.class);
                Cluster cluster = Cluster.local(Cluster.OURS, Cluster.settings(key, value))) {
            assertSums(cluster);
            assertSums(cluster);
            for (ShuffleCounter counter : ShuffleCounter.values()) {
                assertThat(counted.of(counter)).as(counter.label()).isZero();
            }
            assertThat(log.lines())
                    .as("said once")
                    .singleElement(InstanceOfAssertFactories.STRING)
                    .startsWith("WARN")
                    .contains("reason=" + reason + ":", key);
        }
    }

    /** The control for the test above: the same job does count when nothing forbids it. */
    @Test
    void shouldShuffleInMemoryWhenNothingForbidsIt() {
        Counted counted = Counted.fromNow();
        try (Cluster cluster = Cluster.local(Cluster.OURS, Cluster.settings())) {
            assertSums(cluster);
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
        }
    }

    private static void assertSums(Cluster cluster) {
        Map<Integer, Integer> sums = cluster.context()
                .parallelize(IntStream.range(0, 1000).boxed().toList(), 3)
                .mapToPair(i -> new Tuple2<>(i % 10, i))
                .reduceByKey(Integer::sum, 4)
                .collectAsMap();
        assertThat(sums)
                .isEqualTo(IntStream.range(0, 1000)
                        .boxed()
                        .collect(Collectors.groupingBy(i -> i % 10, Collectors.summingInt(i -> i))));
    }
}
