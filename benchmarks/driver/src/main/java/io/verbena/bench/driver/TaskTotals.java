package io.verbena.bench.driver;

import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/**
 * Sums the metrics of all tasks, failed attempts included. Any thread; call {@link #settle} before reading, since Spark delivers
 * task ends asynchronously.
 */
public final class TaskTotals extends SparkListener {
    private static final long SETTLE_TIMEOUT_MS = 60_000;

    private final LongAdder cpuNs = new LongAdder();
    private final LongAdder gcMs = new LongAdder();
    private final LongAdder fetchWaitMs = new LongAdder();
    private final LongAdder bytesWritten = new LongAdder();
    private final LongAdder bytesRead = new LongAdder();
    private final LongAdder blocksRead = new LongAdder();

    /** Creates totals at zero, to be added to a {@link SparkContext}. */
    public TaskTotals() {}

    @Override
    public void onTaskEnd(SparkListenerTaskEnd taskEnd) {
        TaskMetrics metrics = taskEnd.taskMetrics();
        if (metrics == null) {
            return;
        }
        cpuNs.add(metrics.executorCpuTime());
        gcMs.add(metrics.jvmGCTime());
        fetchWaitMs.add(metrics.shuffleReadMetrics().fetchWaitTime());
        bytesWritten.add(metrics.shuffleWriteMetrics().bytesWritten());
        bytesRead.add(metrics.shuffleReadMetrics().totalBytesRead());
        blocksRead.add(metrics.shuffleReadMetrics().totalBlocksFetched());
    }

    /** @throws TimeoutException when Spark's listener queue is still not empty after a minute */
    public void settle(SparkContext context) throws TimeoutException {
        context.listenerBus().waitUntilEmpty(SETTLE_TIMEOUT_MS);
    }

    /** Sets all sums to zero. */
    public void reset() {
        cpuNs.reset();
        gcMs.reset();
        fetchWaitMs.reset();
        bytesWritten.reset();
        bytesRead.reset();
        blocksRead.reset();
    }

    /** CPU time of the task threads, in nanoseconds. */
    public long cpuNs() {
        return cpuNs.sum();
    }

    /** Time that tasks spent in collections of their JVM, in milliseconds. */
    public long gcMs() {
        return gcMs.sum();
    }

    /** Time that tasks waited for blocks, in milliseconds. */
    public long fetchWaitMs() {
        return fetchWaitMs.sum();
    }

    /** Shuffle bytes, as the writers reported them. */
    public long bytesWritten() {
        return bytesWritten.sum();
    }

    /** Local and remote shuffle bytes, as the readers reported them. */
    public long bytesRead() {
        return bytesRead.sum();
    }

    /** Local and remote shuffle blocks, as the readers reported them. */
    public long blocksRead() {
        return blocksRead.sum();
    }
}
