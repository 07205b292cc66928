package io.verbena.it.containers;

import io.verbena.it.process.Messages;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/**
 * An application whose reduce tasks stop in the middle until the test lets them go on. It knows Spark, the probe and messages. Arguments:
 * the folder for messages; number of executors at the end.
 */
public final class InterruptedJob implements Serializable {
    private static final long serialVersionUID = 1L;
    /** Begins the names of messages in which tasks in the middle give their executors' addresses. */
    static final String READING = "reading-";
    /** The message on which they wait. */
    static final String GO = "go";
    /** Begins the line with the number of map tasks that ran again. */
    static final String AGAIN = "map tasks that ran again: ";

    private static final int RECORDS = 30_000;
    /** The result. */
    static final String EXPECTED = "30000 numbers, 30000 of them different, up to 29999";

    private static final int MAPS = 6;

    private InterruptedJob() {}

    public static void main(String[] arguments) throws IOException {
        Messages messages = new Messages(Path.of(arguments[0]));
        int executors = Integer.parseInt(arguments[1]);
        try (SparkSession session = SparkSession.builder().getOrCreate()) {
            JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
            LongAccumulator maps = context.sc().longAccumulator("maps");
            List<Integer> numbers = context.parallelize(
                            IntStream.range(0, RECORDS).boxed().toList(), MAPS)
                    .mapPartitionsToPair(records -> {
                        maps.add(1);
                        List<Tuple2<Integer, Integer>> pairs = new ArrayList<>();
                        records.forEachRemaining(i -> pairs.add(new Tuple2<>(i, i)));
                        return pairs.iterator();
                    })
                    .partitionBy(new HashPartitioner(6))
                    .values()
                    .mapPartitions(records -> inTheMiddle(records, messages))
                    .collect();
            System.out.println(SubmittedJob.RESULT + numbers.size() + " numbers, "
                    + numbers.stream().distinct().count() + " of them different, up to "
                    + numbers.stream().max(Integer::compare).orElseThrow());
            System.out.println(AGAIN + (maps.value() - MAPS));
            ExecutorProbe.statesAfterRemovingAll(context, executors)
                    .forEach(state -> System.out.println(SubmittedJob.STATE + state));
        }
    }

    /** Reads one record, tells the test, waits for its word, and reads the rest. */
    private static Iterator<Integer> inTheMiddle(Iterator<Integer> records, Messages messages) {
        List<Integer> all = new ArrayList<>();
        all.add(records.next());
        TaskContext task = TaskContext.get();
        messages.raise(
                READING + task.taskAttemptId(),
                SparkEnv.get().blockManager().blockManagerId().host());
        messages.await(GO, 1, task::isInterrupted);
        records.forEachRemaining(all::add);
        return all.iterator();
    }
}
