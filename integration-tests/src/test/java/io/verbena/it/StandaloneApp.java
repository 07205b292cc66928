package io.verbena.it;

import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * The application that {@link StandaloneTest} submits. It knows Spark alone, as a user's would; it must not use another class of
 * the tests, since only this one is in its jar.
 */
public final class StandaloneApp implements Serializable {
    private static final long serialVersionUID = 1L;
    /** Begins every line of output that the test compares. */
    static final String RESULT = "result: ";

    private StandaloneApp() {}

    /** Runs a query, a job on records, and a job with a straggler that only a speculative copy can finish. */
    public static void main(String[] arguments) throws java.io.IOException {
        SparkConf conf = new SparkConf();
        try (SparkSession session = SparkSession.builder().config(conf).getOrCreate()) {
            session.sql("SELECT id % 5 AS k, sum(id) FROM range(0, 10000, 1, 4) GROUP BY 1 ORDER BY 1")
                    .collectAsList()
                    .forEach(row -> report(row.toString()));
            List<Integer> numbers = IntStream.range(0, 3000).boxed().toList();
            org.apache.spark.api.java.JavaSparkContext context =
                    org.apache.spark.api.java.JavaSparkContext.fromSparkContext(session.sparkContext());
            context.parallelize(numbers, 4)
                    .mapToPair(i -> new Tuple2<>(i % 3, i))
                    .reduceByKey(Integer::sum, 3)
                    .sortByKey()
                    .collect()
                    .forEach(pair -> report(pair.toString()));
            double sum = context.parallelize(numbers, 4)
                    .mapToPair(i -> {
                        straggle(i);
                        return new Tuple2<>(i, i);
                    })
                    .groupByKey(3)
                    .keys()
                    .mapToDouble(i -> i)
                    .sum();
            report("speculative " + (long) sum);
        }
    }

    /** The first attempt at record 7 hangs until it is killed, which happens when its speculative copy has finished. */
    private static void straggle(int record) {
        TaskContext task = TaskContext.get();
        if (record == 7 && task.attemptNumber() == 0) {
            long deadline = System.nanoTime() + 120_000_000_000L;
            while (!task.isInterrupted() && System.nanoTime() < deadline) {
                java.util.concurrent.locks.LockSupport.parkNanos(50_000_000L);
            }
            task.killTaskIfInterrupted();
            throw new IllegalStateException(
                    "no speculative copy came to executor " + SparkEnv.get().executorId());
        }
    }

    private static void report(String line) {
        System.out.println(RESULT + line);
    }
}
