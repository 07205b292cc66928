package io.verbena.shuffle.seam;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.testing.LocalSpark;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import scala.Option;

/** On the line the plugin is compiled against; the others are covered where they run. */
class SparkSeamTest {
    private static final BlockManagerId HERE = BlockManagerId.apply("3", "host3", 7337, Option.empty());

    @Test
    void shouldMakeAMapStatus() {
        LocalSpark.start();
        long[] sizes = {0, 1, 1_000_000, 0};
        MapStatus status = SparkSeam.mapStatus(HERE, sizes, 1L << 40, 12345);
        assertThat(status.location()).isEqualTo(HERE);
        assertThat(status.mapId()).isEqualTo(1L << 40);
        for (int p = 0; p < sizes.length; p++) {
            assertThat(status.getSizeForBlock(p) > 0).isEqualTo(sizes[p] > 0);
        }
        // Spark keeps a logarithm to the base 1.1.
        assertThat(status.getSizeForBlock(2)).isBetween(900_000L, 1_100_000L);
    }

    @Test
    void shouldMakeAMapStatusOfManyPartitions() {
        LocalSpark.start();
        long[] sizes = new long[3000];
        sizes[0] = 10;
        sizes[2999] = 10;
        MapStatus status = SparkSeam.mapStatus(HERE, sizes, 1, 0);
        assertThat(status.getSizeForBlock(0)).isPositive();
        assertThat(status.getSizeForBlock(1)).isZero();
        assertThat(status.getSizeForBlock(2999)).isPositive();
    }

    @Test
    void shouldNotComputeChecksumsWhereSparkAsksForNone() {
        ShuffleDependency<Object, Object, Object> dependency =
                LocalSpark.dependency(2, new KryoSerializer(new SparkConf(false)));
        assertThat(SparkSeam.rowChecksums(dependency)).isEmpty();
        RowChecksums checksums = new RowChecksums(dependency);
        checksums.update(0, 0, "a record");
        checksums.update(1, 1, "another");
        assertThat(checksums.value()).isZero();
    }
}
