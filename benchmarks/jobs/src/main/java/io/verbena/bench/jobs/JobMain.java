package io.verbena.bench.jobs;

import io.verbena.bench.driver.DriverServer;
import io.verbena.bench.driver.Payload;
import io.verbena.bench.driver.TaskTotals;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.spark.ContextCleaner;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.shuffle.rdma.RdmaShuffleManager;
import org.apache.spark.sql.classic.SparkSession;
import scala.jdk.javaapi.CollectionConverters;

/** A child process that runs workloads for a {@link JobDriver} and measures them. */
final class JobMain implements DriverServer.Service {
    private static final double NS = 1e-9;
    private static final double MS = 1e-3;

    private static final Map<Figure, ShuffleCounter> COUNTERS = Map.of(
            Figure.READ_SELF, ShuffleCounter.READ_SELF_BYTES,
            Figure.READ_MAPPED, ShuffleCounter.READ_MAPPED_BYTES,
            Figure.READ_RDMA, ShuffleCounter.READ_RDMA_BYTES,
            Figure.READ_NETTY, ShuffleCounter.READ_NETTY_BYTES,
            Figure.READ_LOCAL_FILE, ShuffleCounter.READ_LOCAL_FILE_BYTES,
            Figure.OVERFLOWED, ShuffleCounter.OVERFLOWED_BYTES);

    private final SparkSession session;
    private final SparkContext context;
    private final TaskTotals totals = new TaskTotals();

    private JobMain(SparkSession session) {
        this.session = session;
        this.context = session.sparkContext();
        context.addSparkListener(totals);
    }

    /** @param args see {@link DriverServer#run} */
    public static void main(String[] args) throws IOException {
        DriverServer.run(args, JobMain::new);
    }

    @Override
    public Payload answer(String workload, DataInputStream in, Consumer<String> progress) throws Exception {
        JobRun run = run(Workload.valueOf(workload), in.readDouble());
        return run::writeTo;
    }

    private JobRun run(Workload workload, double scale) throws IOException, TimeoutException {
        totals.settle(context);
        totals.reset();
        Map<Figure, Double> before = counters();
        ProcessTimes timesBefore = ProcessTimes.ofDescendants();
        long start = System.nanoTime();
        long checksum = workload.job().run(session, scale);
        long wallNs = System.nanoTime() - start;
        ProcessTimes times = ProcessTimes.ofDescendants().since(timesBefore);
        totals.settle(context);

        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        figures.put(Figure.WALL, wallNs * NS);
        figures.put(Figure.TASK_CPU, totals.cpuNs() * NS);
        figures.put(Figure.EXECUTOR_CPU, times.userSeconds() + times.systemSeconds());
        figures.put(Figure.USER_CPU, times.userSeconds());
        figures.put(Figure.SYSTEM_CPU, times.systemSeconds());
        figures.put(Figure.COMPILER_CPU, times.compilerSeconds());
        figures.put(Figure.PROCESS_CPU, times.userSeconds() + times.systemSeconds() + times.compilerSeconds());
        figures.put(Figure.GC, totals.gcMs() * MS);
        figures.put(Figure.FETCH_WAIT, totals.fetchWaitMs() * MS);
        figures.put(Figure.WRITTEN, (double) totals.bytesWritten());
        figures.put(Figure.BLOCKS, (double) totals.blocksRead());
        counters().forEach((figure, value) -> figures.put(figure, value - before.get(figure)));
        figures.put(Figure.REGISTERED, (double)
                RegisteredMemory.bytes(JavaSparkContext.fromSparkContext(context), times.processes()));
        removeShuffles();
        return new JobRun(checksum, figures);
    }

    /** What the application's tasks have counted so far: zeros where another shuffle manager is. */
    private static Map<Figure, Double> counters() {
        Map<Figure, Double> values = new EnumMap<>(Figure.class);
        COUNTERS.forEach((figure, counter) ->
                values.put(figure, (double) RdmaShuffleManager.totals().get(counter)));
        return values;
    }

    /** Does now what Spark does when the driver's collector finds that nobody needs a shuffle any more. */
    private void removeShuffles() {
        ContextCleaner cleaner = context.cleaner().get();
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) context.env().mapOutputTracker();
        for (Object shuffleId : new ArrayList<>(
                CollectionConverters.asJava(tracker.shuffleStatuses()).keySet())) {
            cleaner.doCleanupShuffle((Integer) shuffleId, true);
        }
    }
}
