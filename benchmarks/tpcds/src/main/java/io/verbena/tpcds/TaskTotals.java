package io.verbena.tpcds;

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
final class TaskTotals extends SparkListener {
    private static final long SETTLE_TIMEOUT_MS = 60_000;

    private final LongAdder cpuNs = new LongAdder();
    private final LongAdder bytesWritten = new LongAdder();
    private final LongAdder bytesRead = new LongAdder();

    @Override
    public void onTaskEnd(SparkListenerTaskEnd taskEnd) {
        TaskMetrics metrics = taskEnd.taskMetrics();
        if (metrics == null) {
            return;
        }
        cpuNs.add(metrics.executorCpuTime());
        bytesWritten.add(metrics.shuffleWriteMetrics().bytesWritten());
        bytesRead.add(metrics.shuffleReadMetrics().totalBytesRead());
    }

    /** @throws TimeoutException when Spark's listener queue is still not empty after a minute */
    void settle(SparkContext context) throws TimeoutException {
        context.listenerBus().waitUntilEmpty(SETTLE_TIMEOUT_MS);
    }

    void reset() {
        cpuNs.reset();
        bytesWritten.reset();
        bytesRead.reset();
    }

    long cpuNs() {
        return cpuNs.sum();
    }

    long bytesWritten() {
        return bytesWritten.sum();
    }

    long bytesRead() {
        return bytesRead.sum();
    }
}
