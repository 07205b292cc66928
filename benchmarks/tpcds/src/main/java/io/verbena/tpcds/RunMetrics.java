package io.verbena.tpcds;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;

/**
 * What one execution of one query cost. Immutable.
 *
 * @param wallNs from the query text to the last collected row, planning included
 * @param taskCpuNs CPU time of the task threads (Spark's executorCpuTime), without Netty, GC or JIT threads
 * @param executorCpuNs CPU time of the executors' processes, all threads; {@link #NOT_MEASURED} unless they are children of the driver
 * @param shuffleBytesWritten as the shuffle writers reported them
 * @param shuffleBytesRead local and remote, as the shuffle readers reported them
 * @param rowCount rows of the result
 */
public record RunMetrics(
        long wallNs,
        long taskCpuNs,
        long executorCpuNs,
        long shuffleBytesWritten,
        long shuffleBytesRead,
        long rowCount) {
    /** Stands for a figure that this run could not have. */
    public static final long NOT_MEASURED = -1;

    void writeTo(DataOutput out) throws IOException {
        out.writeLong(wallNs);
        out.writeLong(taskCpuNs);
        out.writeLong(executorCpuNs);
        out.writeLong(shuffleBytesWritten);
        out.writeLong(shuffleBytesRead);
        out.writeLong(rowCount);
    }

    static RunMetrics readFrom(DataInput in) throws IOException {
        return new RunMetrics(in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readLong(), in.readLong());
    }
}
