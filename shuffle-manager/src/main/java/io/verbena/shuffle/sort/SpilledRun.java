package io.verbena.shuffle.sort;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.network.util.LimitedInputStream;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.FileSegment;
import org.apache.spark.storage.TempLocalBlockId;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Sorted records in a file of {@link SpillFiles}, which deletes it.
 *
 * <p>Threads: confined to the one that reads.
 */
final class SpilledRun extends AbstractIterator<Tuple2<Object, Object>> implements Closeable {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final int BUFFER_BYTES = 1 << 15;

    private final SerializerManager wrapping;
    private final SerializerInstance serializer;
    private final TempLocalBlockId id;
    private final List<FileSegment> batches;
    private final int batchRecords;
    private int nextBatch;
    private int leftInBatch;
    private int left;
    private DeserializationStream in;

    SpilledRun(
            SerializerManager wrapping,
            SerializerInstance serializer,
            TempLocalBlockId id,
            List<FileSegment> batches,
            int batchRecords,
            int records) {
        this.wrapping = wrapping;
        this.serializer = serializer;
        this.id = id;
        this.batches = batches;
        this.batchRecords = batchRecords;
        this.left = records;
    }

    File file() {
        return batches.get(0).file();
    }

    @Override
    public boolean hasNext() {
        return left > 0;
    }

    @Override
    public Tuple2<Object, Object> next() {
        if (left == 0) {
            throw new NoSuchElementException("no more records in " + file());
        }
        if (leftInBatch == 0) {
            open(batches.get(nextBatch++));
            leftInBatch = Math.min(batchRecords, left);
        }
        Tuple2<Object, Object> record = new Tuple2<>(in.readKey(ANY), in.readValue(ANY));
        left--;
        if (--leftInBatch == 0) {
            close();
        }
        return record;
    }

    private void open(FileSegment batch) {
        try {
            FileChannel channel = FileChannel.open(batch.file().toPath(), StandardOpenOption.READ);
            try {
                channel.position(batch.offset());
                InputStream bytes = new LimitedInputStream(Channels.newInputStream(channel), batch.length());
                in = serializer.deserializeStream(
                        wrapping.wrapStream(id, new BufferedInputStream(bytes, BUFFER_BYTES)));
            } finally {
                if (in == null) {
                    channel.close();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read spilled records: file=" + batch, e);
        }
    }

    @Override
    public void close() {
        if (in != null) {
            in.close();
            in = null;
        }
    }
}
