package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.esotericsoftware.kryo.Kryo;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoRegistrator;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Serializers as an application may set them: Kryo that refuses what is not registered, and one of its own for each shuffle. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class SerializersTest {
    private static final int RECORDS = 2000;
    private static final ClassTag<String> STRING = ClassTag$.MODULE$.apply(String.class);
    private static final ClassTag<Integer> INTEGER = ClassTag$.MODULE$.apply(Integer.class);

    /** A class of the user. */
    public static final class Weight implements Serializable {
        private static final long serialVersionUID = 1L;
        final int grams;

        public Weight() {
            this(0);
        }

        Weight(int grams) {
            this.grams = grams;
        }
    }

    /** Registers the class of the user and no other. */
    public static final class Registrator implements KryoRegistrator {
        public Registrator() {}

        @Override
        public void registerClasses(Kryo kryo) {
            kryo.register(Weight.class);
        }
    }

    private static Cluster strict(String manager, String registrator) {
        Map<String, String> settings = Cluster.settings(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.kryo.registrationRequired", "true");
        if (registrator != null) {
            settings.put("spark.kryo.registrator", registrator);
        }
        return Cluster.local(manager, settings);
    }

    private static JavaPairRDD<String, Integer> pairs(Cluster cluster) {
        return cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 3)
                .mapToPair(i -> new Tuple2<>("key" + i % 10, i));
    }

    private static double weigh(Cluster cluster) {
        return pairs(cluster)
                .mapValues(Weight::new)
                .partitionBy(new HashPartitioner(4))
                .values()
                .mapToDouble(weight -> weight.grams)
                .sum();
    }

    /** Nothing of ours goes through Kryo, neither with a shuffle nor with the results of tasks. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldShuffleWhereEveryClassMustBeRegistered(boolean withRegistrator) {
        try (Cluster cluster = strict(Cluster.OURS, withRegistrator ? Registrator.class.getName() : null)) {
            Counted counted = Counted.fromNow();
            assertThat(pairs(cluster)
                            .reduceByKey(Integer::sum, 4)
                            .values()
                            .mapToDouble(sum -> sum)
                            .sum())
                    .isEqualTo(RECORDS * (RECORDS - 1) / 2.0);
            assertThat(pairs(cluster).sortByKey(true, 3).count()).isEqualTo(RECORDS);
            assertThat(cluster.sql()
                            .range(0, RECORDS, 1, 4)
                            .groupBy(org.apache.spark.sql.functions.expr("id % 7"))
                            .count()
                            .count())
                    .isEqualTo(7);
            if (withRegistrator) {
                assertThat(weigh(cluster)).isEqualTo(RECORDS * (RECORDS - 1) / 2.0);
            }
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .as("%s", counted)
                    .isPositive();
            assertThat(counted.of(ShuffleCounter.READ_SELF_BYTES))
                    .as("%s", counted)
                    .isPositive();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {Cluster.SORT, Cluster.OURS})
    void shouldRefuseAnUnregisteredClassAsSparkDoes(String manager) {
        try (Cluster cluster = strict(manager, null)) {
            assertThatThrownBy(() -> weigh(cluster))
                    .isInstanceOf(SparkException.class)
                    .hasMessageContaining("Class is not registered: " + Weight.class.getName());
        }
    }

    private static JavaPairRDD<String, Integer> shuffled(JavaPairRDD<String, Integer> pairs, Serializer serializer) {
        return JavaPairRDD.fromRDD(
                new ShuffledRDD<String, Integer, Integer>(pairs.rdd(), new HashPartitioner(5), STRING, INTEGER, INTEGER)
                        .setSerializer(serializer),
                STRING,
                INTEGER);
    }

    /** Java's cannot relocate objects and takes Spark's writers; the others take ours. */
    @Test
    void shouldServeShufflesOfDifferentSerializersInOneJob() {
        try (Cluster cluster = Cluster.local(Cluster.OURS, Cluster.settings())) {
            SparkConf conf = cluster.context().getConf();
            TaskLog log = TaskLog.of(cluster);
            Counted counted = Counted.fromNow();
            JavaPairRDD<String, Integer> chained = shuffled(pairs(cluster), new JavaSerializer(conf));
            chained = shuffled(chained, new KryoSerializer(conf));
            chained = shuffled(chained, new WordSerializer());
            // And side by side: one stage reads all three kinds.
            List<Tuple2<String, Integer>> records = chained.union(shuffled(pairs(cluster), new KryoSerializer(conf)))
                    .union(shuffled(pairs(cluster), new JavaSerializer(conf)))
                    .collect();
            Map<String, Long> counts = records.stream()
                    .collect(Collectors.groupingBy(
                            pair -> pair._1() + "=" + pair._2(), TreeMap::new, Collectors.counting()));
            assertThat(counts)
                    .hasSize(RECORDS)
                    .allSatisfy((record, count) -> assertThat(count).as(record).isEqualTo(3));
            long written = log.mapTasks().stream()
                    .mapToLong(end -> end.taskMetrics().shuffleWriteMetrics().bytesWritten())
                    .sum();
            assertThat(log.mapTasks()).hasSize(3 + 5 + 5 + 3 + 3);
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .as("all is in memory, with its index: %s", counted)
                    .isGreaterThan(written);
        }
    }
}
