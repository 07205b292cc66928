package io.verbena.shuffle.writer;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.pairs.PairEncoder;
import io.verbena.shuffle.pairs.PairFormat;
import io.verbena.shuffle.pairs.PairTranscoder;
import io.verbena.shuffle.seam.RowChecksums;
import io.verbena.shuffle.seam.SparkSeam;
import java.io.IOException;
import org.apache.spark.Aggregator;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.TaskCompletionListener;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Writes a map output by scattering staged records into runs in registered memory. Serves every shuffle whose serializer can
 * relocate its objects; with map-side combine the combined records are scattered.
 *
 * <p>Threads: confined to the map task's thread. {@link #write} then {@link #stop}, as Spark calls them.
 */
public final class ScatterWriter<K, V> extends ShuffleWriter<K, V> {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();

    private final ShuffleDependency<K, V, ?> dependency;
    private final BlockManagerId location;
    private final long mapId;
    private final TaskContext context;
    private final ShuffleWriteMetricsReporter metrics;
    private final RowFormat rowFormat;
    private final BlockLayout layout;
    private final RowChecksums checksums;
    private final RunSink sink;
    private final Staging staging;
    private final StagingMemory memory;
    private long[] partitionLengths;
    private MapStatus status;

    /**
     * Creates a writer for one map task.
     *
     * @param rowFormat how to take rows as they are, {@code null} to go through the serializer
     * @param pairs whether keys and values of basic types may be taken as they are, see {@link PairFormat#serves}
     * @param counters told what the task did
     * @param location where readers find this executor's blocks
     */
    public ScatterWriter(
            WriterResources resources,
            ShuffleDependency<K, V, ?> dependency,
            RowFormat rowFormat,
            boolean pairs,
            CounterSink counters,
            BlockManagerId location,
            long mapId,
            TaskContext context,
            ShuffleWriteMetricsReporter metrics) {
        this.dependency = dependency;
        this.rowFormat = rowFormat;
        this.location = location;
        this.mapId = mapId;
        this.context = context;
        this.metrics = metrics;
        this.checksums = new RowChecksums(dependency);
        boolean rows = rowFormat != null;
        int partitions = dependency.partitioner().numPartitions();
        this.layout = layout(resources, rows, pairs);
        PairTranscoder transcoder = layout == BlockLayout.PAIRS ? new PairTranscoder(dependency.serializer()) : null;
        this.sink = new RunSink(resources, counters, dependency.shuffleId(), mapId, partitions, layout, transcoder);
        SliceEncoder encoder = layout.isPlain() ? null : new SliceEncoder(resources.serializers(), layout, rows);
        this.staging = new Staging(
                resources.staging(), sink, encoder, rows, partitions, dependency.shuffleId(), mapId, metrics);
        this.memory = new StagingMemory(
                context.taskMemoryManager(), staging, resources.runBytes(partitions), RunImage.overhead(partitions));
        // Spark does not call stop after every error.
        context.addTaskCompletionListener((TaskCompletionListener) ended -> abort());
    }

    private static BlockLayout layout(WriterResources resources, boolean rows, boolean pairs) {
        if (resources.compressInMemory()) {
            return BlockLayout.WRAPPED;
        }
        if (resources.serializers().encryptionEnabled()) {
            return BlockLayout.ENCRYPTED;
        }
        if (rows) {
            return BlockLayout.ROWS;
        }
        return pairs ? BlockLayout.PAIRS : BlockLayout.RECORDS;
    }

    @Override
    public void write(Iterator<Product2<K, V>> records) throws IOException {
        Iterator<Product2<Object, Object>> input = combined(records);
        long count = rowFormat != null
                ? writeRows(input)
                : layout == BlockLayout.PAIRS ? writePairs(input) : writeRecords(input);
        if (staging.isAttached()) {
            staging.flush();
        }
        memory.detach();
        // Spark's name for shuffle data that memory could not hold; shown in the UI's stage page.
        context.taskMetrics().incDiskBytesSpilled(sink.spilledBytes());
        long began = System.nanoTime();
        partitionLengths = sink.commit();
        metrics.incWriteTime(System.nanoTime() - began);
        long bytes = 0;
        for (long length : partitionLengths) {
            bytes += length;
        }
        metrics.incBytesWritten(bytes);
        metrics.incRecordsWritten(count);
        status = SparkSeam.mapStatus(location, partitionLengths, mapId, checksums.value());
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Iterator<Product2<Object, Object>> combined(Iterator<Product2<K, V>> records) {
        Iterator input = records;
        if (dependency.mapSideCombine()) {
            Aggregator aggregator = dependency.aggregator().get();
            input = aggregator.combineValuesByKey(input, context);
        }
        return input;
    }

    private long writeRows(Iterator<Product2<Object, Object>> records) throws IOException {
        Partitioner partitioner = dependency.partitioner();
        long count = 0;
        long dataBytes = 0;
        while (records.hasNext()) {
            Product2<Object, Object> record = records.next();
            int partition = partitioner.getPartition(record._1());
            checksums.update(partition, record._1(), record._2());
            attached();
            dataBytes += rowFormat.stage(staging, partition, record._2());
            count++;
        }
        rowFormat.addDataSize(dataBytes);
        return count;
    }

    private long writePairs(Iterator<Product2<Object, Object>> records) throws IOException {
        try (PairEncoder out = new PairEncoder(staging.record(), dependency.serializer())) {
            return writeEach(records, out::write);
        }
    }

    private long writeRecords(Iterator<Product2<Object, Object>> records) throws IOException {
        if (!records.hasNext()) {
            return 0;
        }
        try (SerializationStream out = dependency.serializer().newInstance().serializeStream(staging.recordStream())) {
            return writeEach(records, (key, value) -> {
                out.writeKey(key, ANY);
                out.writeValue(value, ANY);
                out.flush();
            });
        }
    }

    /** Appends the bytes of one record to the one that was begun. */
    private interface RecordEncoder {
        void write(Object key, Object value) throws IOException;
    }

    private long writeEach(Iterator<Product2<Object, Object>> records, RecordEncoder encoder) throws IOException {
        Partitioner partitioner = dependency.partitioner();
        long count = 0;
        while (records.hasNext()) {
            Product2<Object, Object> record = records.next();
            int partition = partitioner.getPartition(record._1());
            checksums.update(partition, record._1(), record._2());
            attached();
            staging.beginRecord();
            encoder.write(record._1(), record._2());
            staging.endRecord(partition);
            count++;
        }
        return count;
    }

    /** Asking the upstream iterator may have made Spark take the staging buffer away. */
    private void attached() {
        if (!staging.isAttached()) {
            memory.attach();
        }
    }

    @Override
    public long[] getPartitionLengths() {
        return partitionLengths;
    }

    @Override
    public Option<MapStatus> stop(boolean success) {
        if (success) {
            return Option.apply(status);
        }
        abort();
        return Option.empty();
    }

    /** Gives back what was not committed; may be called again. */
    private void abort() {
        memory.detach();
        sink.abort();
    }
}
