package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.reader.ReaderResources;
import io.verbena.shuffle.reader.RegisteredReader;
import io.verbena.shuffle.writer.RowFormat;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Our manager in the worst case for a round-robin exchange: its outputs (shuffle 1) are lost while the consumer is all but done,
 * and the retried map tasks see their input in another order, so rows go to other partitions.
 *
 * <p>Shuffle 1 is announced as living on an executor "9", so that losing it does not lose the consumer's finished outputs.
 */
public class RetryingManager extends RdmaShuffleManager {
    /** Report checksum 0, as a writer that does not know about row checksums does. */
    static volatile boolean zeroChecksum;

    /** Map tasks of the consumer (shuffle 2) that have finished. */
    static final AtomicInteger CONSUMERS_DONE = new AtomicInteger();

    private static final String LOST_EXECUTOR = "9";
    private static final int LOST_SHUFFLE = 1;
    private static final int CONSUMERS = 9;

    public RetryingManager(SparkConf conf) {
        super(conf);
    }

    private static BlockManagerId lost() {
        BlockManagerId here = SparkEnv.get().blockManager().blockManagerId();
        return BlockManagerId.apply(LOST_EXECUTOR, here.host(), here.port(), Option.empty());
    }

    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        ShuffleWriter<K, V> writer = super.getWriter(handle, mapId, context, metrics);
        return new ShuffleWriter<>() {
            @Override
            public void write(Iterator<Product2<K, V>> records) throws java.io.IOException {
                writer.write(records);
            }

            @Override
            public long[] getPartitionLengths() {
                return writer.getPartitionLengths();
            }

            @Override
            public Option<MapStatus> stop(boolean success) {
                Option<MapStatus> status = writer.stop(success);
                if (status.isEmpty()) {
                    return status;
                }
                if (handle.shuffleId() == LOST_SHUFFLE + 1) {
                    CONSUMERS_DONE.incrementAndGet();
                }
                return Option.apply(MapStatus$.MODULE$.apply(
                        handle.shuffleId() == LOST_SHUFFLE
                                ? lost()
                                : status.get().location(),
                        writer.getPartitionLengths(),
                        mapId,
                        zeroChecksum ? 0 : status.get().checksumValue()));
            }
        };
    }

    @Override
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        boolean firstAttempt = context.stageAttemptNumber() == 0;
        if (handle.shuffleId() == LOST_SHUFFLE) {
            if (firstAttempt && startPartition == CONSUMERS - 1) {
                long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                while (CONSUMERS_DONE.get() < CONSUMERS - 1 && System.nanoTime() < deadline) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
                }
                return () -> {
                    throw RetryingManager.<RuntimeException>unchecked(
                            new FetchFailedException(lost(), LOST_SHUFFLE, 0L, 0, startPartition, "injected", null));
                };
            }
            return readerThatFindsTheLostOnesHere(
                    handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
        }
        ShuffleReader<K, C> reader =
                super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
        return handle.shuffleId() == LOST_SHUFFLE - 1 && !firstAttempt ? () -> reversed(reader.read()) : reader;
    }

    @SuppressWarnings("unchecked")
    private <K, C> ShuffleReader<K, C> readerThatFindsTheLostOnesHere(
            ShuffleHandle handle,
            int startMap,
            int endMap,
            int start,
            int end,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        RdmaShuffleHandle<K, ?, C> ours = (RdmaShuffleHandle<K, ?, C>) handle;
        ReaderResources real = runtime().readers();
        ReaderResources asLost = new ReaderResources(
                LOST_EXECUTOR,
                real.store(),
                real.server(),
                real.peers(),
                real.client(),
                real.serializers(),
                real.fetchTimeoutMs(),
                real.maxBytesInFlight(),
                real.maxBytesToMemory(),
                real.tempFiles(),
                real.ownSort());
        CounterSink counters = ours.totals();
        return new RegisteredReader<>(
                asLost,
                ours.dependency(),
                RowFormat.of(ours.dependency().serializer()).fields(),
                SparkEnv.get().mapOutputTracker(),
                startMap,
                endMap,
                start,
                end,
                context,
                metrics,
                counters);
    }

    @SuppressWarnings("unchecked")
    private static <K, C> Iterator<Product2<K, C>> reversed(Iterator<Product2<K, C>> records) {
        List<Product2<K, C>> all = new ArrayList<>();
        while (records.hasNext()) {
            Product2<K, C> record = records.next();
            all.add(new Tuple2<>(record._1(), (C) ((UnsafeRow) record._2()).copy()));
        }
        Collections.reverse(all);
        return CollectionConverters.asScala(all.iterator());
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <T extends Throwable> RuntimeException unchecked(Throwable e) throws T {
        throw (T) e;
    }
}
