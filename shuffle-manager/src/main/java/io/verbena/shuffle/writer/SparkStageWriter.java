package io.verbena.shuffle.writer;

import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metrics.CounterSink;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.api.metadata.MapOutputCommitMessage;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The output stage of Spark's own writers, pointed at registered memory: for serializers that cannot relocate their objects.
 * Spark hands over partitions in ascending order, already compressed and encrypted as configured.
 *
 * <p>Threads: confined to the map task's thread. Spark ends it with {@link #commitAllPartitions} or {@link #abort}.
 */
public final class SparkStageWriter implements ShuffleMapOutputWriter {
    private final RunSink sink;
    private final StagingPool pool;
    private final int partitions;
    private ScratchBuffer buffer;
    private final long[] runBytes;
    private final long runBytesMax;
    private final TaskContext context;
    private long position;
    private int current = -1;

    /** Creates a writer for one map task's output. */
    public SparkStageWriter(
            WriterResources resources,
            CounterSink counters,
            int shuffleId,
            long mapId,
            int partitions,
            TaskContext context) {
        this.sink = new RunSink(resources, counters, shuffleId, mapId, partitions, BlockLayout.SPARK, null);
        this.pool = resources.staging();
        this.partitions = partitions;
        this.buffer = pool.acquire();
        this.runBytes = new long[partitions];
        this.runBytesMax = resources.runBytes(partitions);
        this.context = context;
        // Spark's sort writer does not abort its output stage when it fails.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> release());
    }

    @Override
    public ShufflePartitionWriter getPartitionWriter(int reducePartitionId) {
        if (reducePartitionId <= current || reducePartitionId >= partitions) {
            throw new IllegalArgumentException("partitions must be written in ascending order: got=" + reducePartitionId
                    + ", last=" + current + ", partitions=" + partitions);
        }
        current = reducePartitionId;
        return new PartitionWriter(reducePartitionId);
    }

    @Override
    public MapOutputCommitMessage commitAllPartitions(long[] checksums) throws IOException {
        flush();
        releaseBuffer();
        context.taskMetrics().incDiskBytesSpilled(sink.spilledBytes());
        return MapOutputCommitMessage.of(sink.commit());
    }

    @Override
    public void abort(Throwable error) {
        release();
    }

    /** Gives back what was not committed; may be called again. */
    private void release() {
        releaseBuffer();
        sink.abort();
    }

    /** Once: Spark may abort after a failed commit. */
    private void releaseBuffer() {
        if (buffer != null) {
            pool.release(buffer);
            buffer = null;
        }
    }

    private void append(int partition, byte[] source, int offset, int length) throws IOException {
        int done = 0;
        while (done < length) {
            if (position == runBytesMax) {
                flush();
            }
            int n = (int) Math.min(length - done, runBytesMax - position);
            OffHeap.copy(source, OffHeap.BYTE_ARRAY_OFFSET + offset + done, null, buffer.address() + position, n);
            position += n;
            runBytes[partition] += n;
            done += n;
        }
    }

    private void flush() throws IOException {
        if (position == 0) {
            return;
        }
        long[] starts = new long[partitions + 1];
        for (int p = 0; p < partitions; p++) {
            starts[p + 1] = starts[p] + runBytes[p];
            runBytes[p] = 0;
        }
        long length = position;
        long source = buffer.address();
        sink.add(starts, target -> OffHeap.copy(null, source, null, target, length));
        position = 0;
    }

    private final class PartitionWriter implements ShufflePartitionWriter {
        private final int partition;
        private long written;

        PartitionWriter(int partition) {
            this.partition = partition;
        }

        @Override
        public OutputStream openStream() {
            return new OutputStream() {
                @Override
                public void write(int value) throws IOException {
                    write(new byte[] {(byte) value}, 0, 1);
                }

                @Override
                public void write(byte[] source, int offset, int length) throws IOException {
                    append(partition, source, offset, length);
                    written += length;
                }
            };
        }

        @Override
        public long getNumBytesWritten() {
            return written;
        }
    }
}
