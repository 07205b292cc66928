package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.rdd.ShuffledRDD;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Kryo relocates its objects: records are scattered. The staging area is as small as it may be, so that there are many runs. */
class KryoShapesTest extends RddShapes {
    private static final ClassTag<String> STRING = ClassTag$.MODULE$.apply(String.class);
    private static final ClassTag<Integer> INTEGER = ClassTag$.MODULE$.apply(Integer.class);

    @Override
    Map<String, String> settings() {
        return Cluster.settings(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.shuffle.rdma.memory.segmentSize", "8m",
                "spark.shuffle.rdma.writer.stagingSize", "64k");
    }

    @Override
    ShuffleCounter remoteWay() {
        return ShuffleCounter.READ_MAPPED_BYTES;
    }

    @Test
    void shouldServeARelocatableSerializerOfTheUser() {
        ShuffledRDD<String, Integer, Integer> shuffled = new ShuffledRDD<String, Integer, Integer>(
                        pairs().rdd(), new HashPartitioner(6), STRING, INTEGER, INTEGER)
                .setSerializer(new WordSerializer());
        Map<String, List<Integer>> groups = new TreeMap<>();
        shuffled.toJavaRDD().collect().stream()
                .map(record -> (Tuple2<?, ?>) record)
                .forEach(pair -> groups.computeIfAbsent((String) pair._1(), k -> new java.util.ArrayList<>())
                        .add((Integer) pair._2()));
        groups.values().forEach(values -> values.sort(null));
        assertThat(groups).isEqualTo(grouped());
        assertWay();
    }

    @Test
    void shouldOverflowARecordLargerThanASegment() {
        List<Integer> hashes = cluster.context()
                .parallelize(List.of(0, 1, 2), 3)
                .mapToPair(i -> new Tuple2<>(i, large(i, i == 1 ? 10 << 20 : 1 << 20)))
                .partitionBy(new HashPartitioner(2))
                .map(pair -> pair._2().hashCode())
                .collect();
        assertThat(hashes)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 3)
                        .mapToObj(i -> large(i, i == 1 ? 10 << 20 : 1 << 20).hashCode())
                        .toList());
        assertThat(counted.of(ShuffleCounter.OVERFLOWED_MAP_OUTPUTS))
                .as("%s", counted)
                .isOne();
        // Compressed as Spark compresses files; digits and letters shrink by a quarter at most.
        assertThat(counted.of(ShuffleCounter.OVERFLOWED_BYTES)).isBetween(7L << 20, 11L << 20);
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isGreaterThan(2L << 20);
    }
}
