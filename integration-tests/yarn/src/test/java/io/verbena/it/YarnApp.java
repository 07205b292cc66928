package io.verbena.it;

import io.verbena.it.process.Messages;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * The application that {@link YarnTest} and {@link YarnMemoryTest} submit. It knows Spark, {@link Messages} and what that needs, as
 * nothing else of the tests is in its jar.
 */
public final class YarnApp implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Begins every line of output that a test reads. */
    static final String RESULT = "result: ";

    /** Numbers that {@link #loss} shuffles. */
    static final int NUMBERS = 20_000;

    /** Bytes that {@link #fill} shuffles, more than executors have memory for. */
    static final long FILL_BYTES = 1280L << 20;

    private YarnApp() {}

    /** Runs the job that the first argument names; the others are the job's. */
    public static void main(String[] arguments) throws IOException {
        try (SparkSession session = SparkSession.builder().getOrCreate()) {
            JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
            switch (arguments[0]) {
                case "results" -> results(session, context, arguments[1], arguments[2]);
                case "loss" -> loss(context, Path.of(arguments[1]), arguments[2]);
                case "fill" -> fill(context, Path.of(arguments[1]));
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
    }

    /** A query with a join and an aggregation, and a job on records; from files to files. */
    private static void results(SparkSession session, JavaSparkContext context, String input, String output) {
        Dataset<Row> orders = session.read().schema("item INT, amount BIGINT").csv(input + "/orders");
        Dataset<Row> items = session.read().schema("item INT, name STRING").csv(input + "/items");
        orders.join(items, "item")
                .groupBy("name")
                .agg(org.apache.spark.sql.functions.sum("amount"), org.apache.spark.sql.functions.count("amount"))
                .orderBy("name")
                .write()
                .csv(output + "/sql");
        context.textFile(input + "/orders", 4)
                .mapToPair(line -> {
                    String[] fields = line.split(",", 2);
                    return new Tuple2<>(fields[0], Long.parseLong(fields[1]));
                })
                .reduceByKey(Long::sum, 3)
                .sortByKey(true, 3)
                .map(pair -> pair._1() + "," + pair._2())
                .saveAsTextFile(output + "/records");
    }

    /** A job in whose middle the test kills an executor, and a second one for which both executors must be there. */
    private static void loss(JavaSparkContext context, Path directory, String output) throws IOException {
        Messages messages = new Messages(directory);
        context.parallelize(IntStream.range(0, NUMBERS).boxed().toList(), 6)
                .mapToPair(i -> new Tuple2<>(i, i))
                .partitionBy(new HashPartitioner(4))
                .values()
                .mapPartitions(numbers -> inTheMiddle(numbers, messages))
                .saveAsTextFile(output);
        Messages together = new Messages(Files.createDirectory(directory.resolve("together")));
        long pairs = context.parallelize(List.of(0, 1), 2)
                .mapToPair(i -> {
                    // One core each, so two tasks at the same time are on two executors.
                    sayWhoIAm(together, "task");
                    together.await("task", 2, YarnApp::isKilled);
                    return new Tuple2<>(i, i);
                })
                .groupByKey(2)
                .count();
        report("pairs=" + pairs);
        messages.raise("both", "");
        messages.await("end", 1, () -> false);
    }

    /** Reads one record, tells the test, waits for its word, and reads the rest. */
    private static Iterator<Integer> inTheMiddle(Iterator<Integer> numbers, Messages messages) {
        List<Integer> all = new ArrayList<>();
        all.add(numbers.next());
        sayWhoIAm(messages, "reading");
        messages.await("go", 1, YarnApp::isKilled);
        numbers.forEachRemaining(all::add);
        return all.iterator();
    }

    /** A task's "executor id:process id", under a name of its own. */
    private static void sayWhoIAm(Messages messages, String name) {
        messages.raise(
                name + "-" + TaskContext.get().taskAttemptId(),
                SparkEnv.get().executorId() + ":" + ProcessHandle.current().pid());
    }

    private static boolean isKilled() {
        return TaskContext.get().isInterrupted();
    }

    /** A shuffle that fills the memory of executors, which then tell the test what they have and wait for its word. */
    private static void fill(JavaSparkContext context, Path directory) {
        Messages messages = new Messages(directory);
        int maps = 16;
        int recordBytes = 1 << 20;
        int records = (int) (FILL_BYTES / recordBytes / maps);
        long bytes = context.parallelize(IntStream.range(0, maps).boxed().toList(), maps)
                .flatMapToPair(map -> IntStream.range(0, records)
                        .mapToObj(i -> new Tuple2<>(map + i, new byte[recordBytes]))
                        .iterator())
                .partitionBy(new HashPartitioner(4))
                .mapPartitions(pairs -> {
                    long read = 0;
                    while (pairs.hasNext()) {
                        read += pairs.next()._2().length;
                    }
                    messages.raise("full-" + TaskContext.get().taskAttemptId(), memory());
                    messages.await("go", 1, YarnApp::isKilled);
                    return List.of(read).iterator();
                })
                .reduce(Long::sum);
        report("bytes=" + bytes);
    }

    /** What the kernel counts as this process's memory, in KiB: "private shared". */
    private static String memory() throws IOException {
        return kibibytes("RssAnon") + " " + kibibytes("RssShmem");
    }

    private static String kibibytes(String name) throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith(name + ":"))
                .map(line -> line.replaceAll("\\D", ""))
                .findFirst()
                .orElseThrow();
    }

    private static void report(String line) {
        System.out.println(RESULT + line);
    }
}
