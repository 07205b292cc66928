package io.verbena.it.containers;

import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * An application that is submitted: a query and jobs on records. It knows Spark and the probe alone. Arguments: number of executors;
 * length of the texts that the query shuffles, 120,000 of them, on which the results do not depend.
 */
public final class SubmittedJob implements Serializable {
    private static final long serialVersionUID = 1L;
    /** Begins every line of output that the test compares. */
    static final String RESULT = "result: ";
    /** Begins a line for each executor with what it holds after all shuffles are gone. */
    static final String STATE = "state: ";

    private SubmittedJob() {}

    public static void main(String[] arguments) throws IOException {
        int executors = Integer.parseInt(arguments[0]);
        int length = Integer.parseInt(arguments[1]);
        try (SparkSession session = SparkSession.builder().getOrCreate()) {
            session.range(0, 120_000, 1, 6)
                    .selectExpr("id", "id % 1000 AS k", "repeat(CAST(id % 10 AS string), " + length + ") AS text")
                    .createOrReplaceTempView("facts");
            session.range(0, 1000, 1, 3).selectExpr("id AS k", "id % 7 AS g").createOrReplaceTempView("groups");
            String equal = "count_if(text = repeat(CAST(id % 10 AS string), " + length + "))";
            session.sql("SELECT g, count(*), sum(id), " + equal
                            + " FROM facts JOIN groups ON facts.k = groups.k GROUP BY g ORDER BY g")
                    .collectAsList()
                    .forEach(row -> System.out.println(RESULT + row));
            JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
            List<Integer> numbers = IntStream.range(0, 20_000).boxed().toList();
            context.parallelize(numbers, 6)
                    .mapToPair(i -> new Tuple2<>("key" + i % 97, i))
                    .reduceByKey(Integer::sum, 5)
                    .sortByKey()
                    .collect()
                    .forEach(pair -> System.out.println(RESULT + pair));
            if (!session.sparkContext()
                    .conf()
                    .get("spark.shuffle.manager", "sort")
                    .equals("sort")) {
                ExecutorProbe.statesAfterRemovingAll(context, executors)
                        .forEach(state ->
                                System.out.println(STATE + state + ", committedBytes=" + state.committedBytes()));
            }
        }
    }
}
