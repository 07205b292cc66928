package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.spark.HashPartitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/**
 * Every operation on RDDs that shuffles, on two executors, compared with what plain Java computes. A subclass says with which
 * settings and by which way remote bytes then come.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
abstract class RddShapes {
    static final int RECORDS = 6000;
    private static final int KEYS = 173;
    private static final int MAPS = 5;

    Cluster cluster;
    Counted counted;

    abstract Map<String, String> settings();

    /** How this executor's neighbour is read. */
    abstract ShuffleCounter remoteWay();

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(Cluster.OURS, settings());
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
        counted = Counted.fromNow();
    }

    /** Checks that the shuffle was in memory, was read from both executors the intended way, and needed no second attempt. */
    void assertWay() {
        ShuffleCounter other = remoteWay() == ShuffleCounter.READ_MAPPED_BYTES
                ? ShuffleCounter.READ_NETTY_BYTES
                : ShuffleCounter.READ_MAPPED_BYTES;
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                .as("written in memory: %s", counted)
                .isPositive();
        assertThat(counted.of(ShuffleCounter.READ_SELF_BYTES))
                .as("read from own memory: %s", counted)
                .isPositive();
        assertThat(counted.of(remoteWay())).as("%s: %s", remoteWay(), counted).isPositive();
        assertThat(counted.of(other)).as("%s: %s", other, counted).isZero();
        assertThat(counted.of(ShuffleCounter.OVERFLOWED_BYTES)).isZero();
        assertThat(counted.of(ShuffleCounter.READ_RETRIES)).isZero();
    }

    static String key(int i) {
        return "key" + i % KEYS;
    }

    JavaPairRDD<String, Integer> pairs() {
        return cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), MAPS)
                .mapToPair(i -> new Tuple2<>(key(i), i));
    }

    static Map<String, List<Integer>> grouped() {
        Map<String, List<Integer>> groups = new TreeMap<>();
        for (int i = 0; i < RECORDS; i++) {
            groups.computeIfAbsent(key(i), k -> new ArrayList<>()).add(i);
        }
        return groups;
    }

    static List<Integer> sorted(Iterable<Integer> values) {
        return StreamSupport.stream(values.spliterator(), false).sorted().toList();
    }

    private static Map<String, Integer> sums() {
        Map<String, Integer> sums = new HashMap<>();
        grouped()
                .forEach((key, values) -> sums.put(
                        key, values.stream().mapToInt(Integer::intValue).sum()));
        return sums;
    }

    /** Keys and values that only the serializer knows, beside such as every shuffle knows. */
    @Test
    void shouldShuffleObjects() {
        List<Tuple2<List<String>, Tuple2<String, Integer>>> both = pairs().mapToPair(pair ->
                        new Tuple2<List<String>, Tuple2<String, Integer>>(new ArrayList<>(List.of(pair._1())), pair))
                .partitionBy(new HashPartitioner(6))
                .collect();
        assertThat(both).hasSize(RECORDS).allSatisfy(pair -> {
            assertThat(pair._1()).containsExactly(pair._2()._1());
            assertThat(pair._2()._1()).isEqualTo(key(pair._2()._2()));
        });
        assertThat(both.stream().map(pair -> pair._2()._2()).distinct()).hasSize(RECORDS);
        List<Tuple2<String, Tuple2<Integer, String>>> values = pairs().mapValues(i -> new Tuple2<>(i, key(i)))
                .partitionBy(new HashPartitioner(6))
                .collect();
        assertThat(values).hasSize(RECORDS).allSatisfy(pair -> {
            assertThat(pair._2()._2()).isEqualTo(pair._1());
            assertThat(pair._1()).isEqualTo(key(pair._2()._1()));
        });
        assertThat(values.stream().map(pair -> pair._2()._1()).distinct()).hasSize(RECORDS);
        assertWay();
    }

    @Test
    void shouldReduceByKey() {
        assertThat(pairs().reduceByKey(Integer::sum, 7).collectAsMap()).isEqualTo(sums());
        assertWay();
    }

    @Test
    void shouldAggregateByKeyToAnotherType() {
        Map<String, String> longest = pairs().aggregateByKey(
                        "",
                        6,
                        (text, i) -> text.length() > 3 ? text : text + "x",
                        (a, b) -> a.length() > b.length() ? a : b)
                .collectAsMap();
        assertThat(longest)
                .hasSize(KEYS)
                .allSatisfy((key, text) -> assertThat(text).as(key).isEqualTo("xxxx"));
        assertWay();
    }

    @Test
    void shouldGroupByKey() {
        Map<String, List<Integer>> groups = new TreeMap<>();
        pairs().groupByKey(9).collect().forEach(group -> groups.put(group._1(), sorted(group._2())));
        assertThat(groups).isEqualTo(grouped());
        assertWay();
    }

    @Test
    void shouldCogroupAndJoin() {
        JavaPairRDD<String, Integer> few = pairs().filter(pair -> pair._2() < 200);
        Map<String, List<Integer>> left = new TreeMap<>();
        Map<String, List<Integer>> right = new TreeMap<>();
        pairs().cogroup(few, 5).collect().forEach(group -> {
            left.put(group._1(), sorted(group._2()._1()));
            right.put(group._1(), sorted(group._2()._2()));
        });
        Map<String, List<Integer>> expectedRight = new TreeMap<>();
        long joined = 0;
        for (Map.Entry<String, List<Integer>> group : grouped().entrySet()) {
            List<Integer> small = group.getValue().stream().filter(i -> i < 200).toList();
            expectedRight.put(group.getKey(), small);
            joined += (long) small.size() * group.getValue().size();
        }
        assertThat(left).isEqualTo(grouped());
        assertThat(right).isEqualTo(expectedRight);
        assertThat(pairs().join(few, 5).count()).isEqualTo(joined);
        assertWay();
    }

    @Test
    void shouldSortByKeyInBothDirections() {
        List<String> ascending =
                IntStream.range(0, RECORDS).mapToObj(RddShapes::key).sorted().toList();
        List<String> descending = new ArrayList<>(ascending);
        Collections.reverse(descending);
        assertThat(pairs().sortByKey(true, 6).keys().collect()).isEqualTo(ascending);
        assertThat(pairs().sortByKey(false, 6).keys().collect()).isEqualTo(descending);
        assertWay();
    }

    @Test
    void shouldRepartitionAndSortWithinPartitions() {
        HashPartitioner partitioner = new HashPartitioner(11);
        List<List<String>> partitions = pairs().repartitionAndSortWithinPartitions(
                        partitioner, Comparator.<String>naturalOrder().reversed())
                .keys()
                .glom()
                .collect();
        List<List<String>> expected = new ArrayList<>();
        for (int p = 0; p < 11; p++) {
            int partition = p;
            expected.add(IntStream.range(0, RECORDS)
                    .mapToObj(RddShapes::key)
                    .filter(key -> partitioner.getPartition(key) == partition)
                    .sorted(Comparator.reverseOrder())
                    .toList());
        }
        assertThat(partitions).isEqualTo(expected);
        assertWay();
    }

    @Test
    void shouldShuffleThePairsOfPython() {
        Map<String, List<Integer>> groups = new TreeMap<>();
        List<List<Tuple2<String, Integer>>> partitions =
                PythonPairs.partitionBy(pairs(), 6).glom().collect();
        for (List<Tuple2<String, Integer>> partition : partitions) {
            Map<String, List<Integer>> here = new TreeMap<>();
            partition.forEach(pair ->
                    here.computeIfAbsent(pair._1(), k -> new ArrayList<>()).add(pair._2()));
            // A key that two partitions had would be missing values here.
            here.forEach((key, values) -> groups.put(key, sorted(values)));
        }
        assertThat(groups).isEqualTo(grouped());
        assertWay();
    }

    @Test
    void shouldFindDistinctValues() {
        List<String> distinct = pairs().keys().distinct(4).collect();
        assertThat(distinct).hasSize(KEYS);
        assertThat(new TreeSet<>(distinct)).isEqualTo(new TreeSet<>(grouped().keySet()));
        assertWay();
    }

    @Test
    void shouldServeMapOutputsAndPartitionsThatAreEmpty() {
        List<List<Tuple2<Integer, String>>> partitions = cluster.context()
                .parallelize(List.of(3, 23, 43), 8)
                .mapToPair(i -> new Tuple2<>(i, "v" + i))
                .partitionBy(new HashPartitioner(20))
                .glom()
                .collect();
        for (int p = 0; p < 20; p++) {
            assertThat(partitions.get(p).stream().map(Tuple2::toString).sorted())
                    .as("partition %s", p)
                    .isEqualTo(p == 3 ? List.of("(23,v23)", "(3,v3)", "(43,v43)") : List.of());
        }
        assertThat(pairs().filter(pair -> false).groupByKey(4).collect()).isEmpty();
        assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
    }

    @Test
    void shouldServeOneMapToManyReducers() {
        assertManyReducers(pairs().coalesce(1).partitionBy(new HashPartitioner(64)), 64);
        assertThat(counted.of(remoteWay())).as("%s", counted).isPositive();
    }

    /** More than 200 partitions: Spark's bypass writer gives way to its sorting one. */
    @Test
    void shouldServeThreeHundredReducers() {
        assertManyReducers(pairs().partitionBy(new HashPartitioner(300)), 300);
        assertWay();
    }

    private static void assertManyReducers(JavaPairRDD<String, Integer> partitioned, int count) {
        List<List<Integer>> partitions = partitioned.values().glom().collect().stream()
                .map(RddShapes::sorted)
                .toList();
        HashPartitioner partitioner = new HashPartitioner(count);
        List<List<Integer>> expected = new ArrayList<>();
        for (int p = 0; p < count; p++) {
            int partition = p;
            expected.add(IntStream.range(0, RECORDS)
                    .filter(i -> partitioner.getPartition(key(i)) == partition)
                    .boxed()
                    .toList());
        }
        assertThat(partitions).isEqualTo(expected);
    }

    /** Five megabytes each: larger than the smallest staging area and than what Spark's streams buffer. */
    @Test
    void shouldServeRecordsLargerThanTheStagingArea() {
        // Each of two maps has a record for each of three reducers, so that both executors read from both.
        List<String> texts = cluster.context()
                .parallelize(List.of(0, 1), 2)
                .flatMapToPair(map -> IntStream.range(0, 3)
                        .mapToObj(i -> new Tuple2<>(i, large(map * 3 + i, 5 << 20)))
                        .iterator())
                .partitionBy(new HashPartitioner(3))
                .map(pair ->
                        pair._1() + ":" + pair._2().length() + ":" + pair._2().hashCode())
                .collect();
        assertThat(texts)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 6)
                        .mapToObj(i -> i % 3 + ":" + (5 << 20) + ":"
                                + large(i, 5 << 20).hashCode())
                        .toList());
        assertWay();
    }

    /** A text without long repetitions, the same for the same seed. */
    static String large(int seed, int length) {
        StringBuilder text = new StringBuilder(length);
        long state = seed + 1L;
        while (text.length() < length) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            text.append((char) ('0' + ((state >>> 40) & 63)));
        }
        return text.toString();
    }

    @Test
    void shouldServeRowsOfAQuery() {
        List<String> rows = cluster
                .sql()
                .range(0, RECORDS, 1, MAPS)
                .selectExpr("id", "id % 97 AS k", "repeat('x', cast(id % 50 AS int)) AS text")
                .repartition(7, org.apache.spark.sql.functions.col("id"))
                .groupBy("k")
                .agg(
                        org.apache.spark.sql.functions.expr("sum(id)"),
                        org.apache.spark.sql.functions.expr("sum(length(text))"))
                .orderBy("k")
                .collectAsList()
                .stream()
                .map(Object::toString)
                .toList();
        List<String> expected = new ArrayList<>();
        for (int k = 0; k < 97; k++) {
            long ids = 0;
            long lengths = 0;
            for (int id = k; id < RECORDS; id += 97) {
                ids += id;
                lengths += id % 50;
            }
            expected.add("[" + k + "," + ids + "," + lengths + "]");
        }
        assertThat(rows).isEqualTo(expected);
        assertWay();
    }

    @Test
    void shouldChainShuffles() {
        List<Tuple2<Integer, Integer>> chained = pairs().reduceByKey(Integer::sum, 6)
                .mapToPair(sum -> new Tuple2<>(sum._2() % 10, 1))
                .reduceByKey(Integer::sum, 5)
                .sortByKey()
                .collect();
        Map<Integer, Integer> expected = new TreeMap<>();
        sums().values().forEach(sum -> expected.merge(sum % 10, 1, Integer::sum));
        assertThat(chained.stream().map(Tuple2::toString))
                .isEqualTo(expected.entrySet().stream()
                        .map(e -> "(" + e.getKey() + "," + e.getValue() + ")")
                        .toList());
        assertWay();
    }
}
