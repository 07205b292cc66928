package io.verbena.lines;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * The application that {@link LineJobsTest} submits: rows of SQL, records by Kryo, records by Java's serialisation. It knows Spark alone,
 * as a user's would; it must not use another class of the tests, since only this one is in its jar.
 */
public final class LineApp implements Serializable {
    private static final long serialVersionUID = 1L;
    /** Begins every line of output that the test compares. */
    static final String RESULT = "result: ";

    private static final int RECORDS = 6000;
    private static final int KEYS = 47;
    private static final int PARTITIONS = 4;

    private static final String QUERY = "SELECT o.g, count(*), sum(o.id), max(n.name) FROM"
            + " (SELECT id, id % 1000 AS k, id % 13 AS g FROM range(0, 20000, 1, 4)) o JOIN"
            + " (SELECT id AS k, concat('name ', id) AS name FROM range(0, 500, 1, 4)) n ON o.k = n.k"
            + " GROUP BY o.g ORDER BY o.g";

    private LineApp() {}

    /** Runs the jobs. */
    public static void main(String[] arguments) throws java.io.IOException {
        SparkConf conf = new SparkConf();
        try (SparkSession session = SparkSession.builder().config(conf).getOrCreate()) {
            session.sql(QUERY).collectAsList().forEach(row -> report("joined " + row));
            String plan = session.sql("EXPLAIN " + QUERY).collectAsList().get(0).getString(0);
            report("adaptive " + plan.contains("AdaptiveSparkPlan") + ", broadcast " + plan.contains("Broadcast"));

            JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
            JavaPairRDD<String, Integer> pairs = context.parallelize(
                            IntStream.range(0, RECORDS).boxed().toList(), PARTITIONS)
                    .mapToPair(i -> new Tuple2<>("key" + i % KEYS, i));
            pairs.reduceByKey(Integer::sum, PARTITIONS)
                    .sortByKey(false, PARTITIONS)
                    .collect()
                    .forEach(pair -> report("reduced " + pair));
            groups(pairs, new JavaSerializer(conf)).forEach(group -> report("grouped " + group));
        }
    }

    /** groupByKey with a serializer of its own; sorted, since the order of values is the shuffle's to choose. */
    private static List<String> groups(JavaPairRDD<String, Integer> pairs, JavaSerializer serializer) {
        return pairs
                .combineByKey(
                        value -> {
                            List<Integer> values = new ArrayList<>();
                            values.add(value);
                            return values;
                        },
                        (values, value) -> {
                            values.add(value);
                            return values;
                        },
                        (values, more) -> {
                            values.addAll(more);
                            return values;
                        },
                        new HashPartitioner(PARTITIONS),
                        false,
                        serializer)
                .collect()
                .stream()
                .map(group -> group._1() + " " + group._2().stream().sorted().toList())
                .sorted()
                .toList();
    }

    private static void report(String line) {
        System.out.println(RESULT + line);
    }
}
