package io.verbena.it.containers;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
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
 * An application whose reduce tasks stop in the middle until the test lets them go on. It knows Spark and the probe alone. Arguments:
 * the folder for signals; number of executors at the end.
 */
public final class InterruptedJob implements Serializable {
    private static final long serialVersionUID = 1L;
    /** Begins the names of files in which tasks in the middle leave their executors' addresses. */
    static final String READING = "reading-";
    /** The file on which they wait. */
    static final String GO = "go";
    /** Begins the line with the number of map tasks that ran again. */
    static final String AGAIN = "map tasks that ran again: ";

    private static final int RECORDS = 30_000;
    /** The result. */
    static final String EXPECTED = "30000 numbers, 30000 of them different, up to 29999";

    private static final int MAPS = 6;
    private static final long DEADLINE_NS = 90_000_000_000L;

    private InterruptedJob() {}

    public static void main(String[] arguments) throws IOException {
        String signals = arguments[0];
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
                    .mapPartitions(records -> inTheMiddle(records, Path.of(signals)))
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
    private static Iterator<Integer> inTheMiddle(Iterator<Integer> records, Path signals) {
        List<Integer> all = new ArrayList<>();
        all.add(records.next());
        TaskContext task = TaskContext.get();
        try {
            // Moved into place, so that nobody reads half a message.
            Path draft = Files.createTempFile(signals, ".draft", "");
            Files.writeString(
                    draft, SparkEnv.get().blockManager().blockManagerId().host());
            Files.move(draft, signals.resolve(READING + task.taskAttemptId()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        long deadline = System.nanoTime() + DEADLINE_NS;
        while (!Files.exists(signals.resolve(GO)) && !task.isInterrupted()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("the test did not say \"go\"");
            }
            LockSupport.parkNanos(20_000_000L);
        }
        records.forEachRemaining(all::add);
        return all.iterator();
    }
}
