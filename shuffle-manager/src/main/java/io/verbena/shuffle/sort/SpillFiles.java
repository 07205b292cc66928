package io.verbena.shuffle.sort;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.DiskBlockObjectWriter;
import org.apache.spark.storage.FileSegment;
import org.apache.spark.storage.TempLocalBlockId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/**
 * The sorted runs that one task has on disk. They are written in batches, each a stream of its own, because a stream of some
 * serializers remembers every object that went through it.
 *
 * <p>Threads: {@link #write} may run on any thread of the task, one at a time; it and {@link #close} are mutually exclusive.
 */
final class SpillFiles implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(SpillFiles.class);

    /** As many as Spark's own sorter writes to one stream (spark.shuffle.spill.batchSize). */
    private static final int BATCH_RECORDS = 10_000;

    private static final int BUFFER_BYTES = 1 << 15;

    private final BlockManager blocks = SparkEnv.get().blockManager();
    private final Serializer serializer;
    private final TaskContext context;
    private final List<SpilledRun> runs = new ArrayList<>();
    private boolean closed;

    SpillFiles(Serializer serializer, TaskContext context) {
        this.serializer = serializer;
        this.context = context;
    }

    /**
     * Writes elements {@code from} to {@code to} of an array of {@link Tuple2}, and adds what it wrote to the task's metrics.
     *
     * @return the same records, to be read once; {@code null}, and no file, after {@link #close}
     */
    synchronized SpilledRun write(Object[] records, int from, int to) {
        if (closed) {
            return null;
        }
        Tuple2<TempLocalBlockId, File> target = blocks.diskBlockManager().createTempLocalBlock();
        DiskBlockObjectWriter writer = blocks.getDiskWriter(
                target._1(), target._2(), serializer.newInstance(), BUFFER_BYTES, new ShuffleWriteMetrics());
        List<FileSegment> batches = new ArrayList<>();
        boolean written = false;
        try {
            for (int i = from; i < to; ) {
                int end = Math.min(to, i + BATCH_RECORDS);
                for (; i < end; i++) {
                    Tuple2<?, ?> record = (Tuple2<?, ?>) records[i];
                    writer.write(record._1(), record._2());
                }
                FileSegment batch = writer.commitAndGet();
                context.taskMetrics().incDiskBytesSpilled(batch.length());
                batches.add(batch);
            }
            written = true;
        } finally {
            if (written) {
                writer.close();
            } else {
                writer.closeAndDelete();
            }
        }
        SpilledRun run = new SpilledRun(
                blocks.serializerManager(), serializer.newInstance(), target._1(), batches, BATCH_RECORDS, to - from);
        runs.add(run);
        return run;
    }

    /** Returns the runs so far, in the order they were written. */
    synchronized List<SpilledRun> runs() {
        return List.copyOf(runs);
    }

    /** Deletes all files, whether they have been read or not. One that cannot be deleted is Spark's to delete when it stops. */
    @Override
    public synchronized void close() {
        closed = true;
        for (SpilledRun run : runs) {
            try {
                run.close();
                Files.deleteIfExists(run.file().toPath());
            } catch (IOException | RuntimeException e) {
                LOG.warn("cannot delete spilled records: file={}: {}", run.file(), e.toString());
            }
        }
        runs.clear();
    }
}
