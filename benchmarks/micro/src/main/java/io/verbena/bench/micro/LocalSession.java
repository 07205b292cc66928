package io.verbena.bench.micro;

import io.verbena.bench.driver.LocalSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.apache.commons.io.file.PathUtils;
import org.apache.spark.MapOutputTrackerMaster;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.ShuffleWriteProcessor;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A Spark application in this JVM, {@code local[1]}, whose shuffle manager is called as tasks call it, but without scheduler and
 * tasks around it. One at a time. Threads: confined to the benchmark's.
 */
final class LocalSession implements AutoCloseable {
    /** An executor id that is not this one's: blocks that it is said to have are asked for over its address, which is ours. */
    private static final String PEER = "peer";

    private final Path scratch;
    private final SparkContext context;
    private long lastTaskId;

    private LocalSession(Path scratch, SparkContext context) {
        this.scratch = scratch;
        this.context = context;
    }

    static LocalSession start(Manager manager) {
        try {
            Path scratch = Files.createTempDirectory("verbena-micro");
            SparkConf conf = new SparkConf(false).setAppName("micro-benchmarks");
            LocalSettings.of("local[1]", scratch).forEach(conf::set);
            // Blocks said to be another executor's go over Netty, as from another host, and are not looked for on this
            // disk.
            conf.set("spark.shuffle.readHostLocalDisk", "false");
            manager.settings().forEach(conf::set);
            return new LocalSession(scratch, new SparkContext(conf));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    SparkConf conf() {
        return context.getConf();
    }

    /** A new shuffle. */
    @SuppressWarnings("unchecked")
    <V> ShuffleDependency<Object, V, V> shuffle(Partitioner partitioner, Serializer serializer) {
        ClassTag<Object> any = ClassTag$.MODULE$.Object();
        RDD<Product2<Object, V>> input = (RDD<Product2<Object, V>>) (RDD<?>) context.emptyRDD(any);
        return new ShuffleDependency<>(
                input,
                partitioner,
                serializer,
                Option.empty(),
                Option.empty(),
                false,
                new ShuffleWriteProcessor(),
                any,
                (ClassTag<V>) any,
                (ClassTag<V>) any);
    }

    /** What came out of a map task. */
    record Written(MapStatus status, long mapId, long records, long bytes, String writer) {}

    /** Runs a map task. */
    <V> Written write(ShuffleDependency<Object, V, V> shuffle, Iterator<Product2<Object, V>> records) {
        long mapId = ++lastTaskId;
        TaskContextImpl task = task(mapId);
        try {
            ShuffleWriter<Object, V> writer = SparkEnv.get()
                    .shuffleManager()
                    .getWriter(
                            shuffle.shuffleHandle(),
                            mapId,
                            task,
                            task.taskMetrics().shuffleWriteMetrics());
            writer.write(records);
            MapStatus status = writer.stop(true).get();
            return new Written(
                    status,
                    mapId,
                    task.taskMetrics().shuffleWriteMetrics().recordsWritten(),
                    task.taskMetrics().shuffleWriteMetrics().bytesWritten(),
                    writer.getClass().getSimpleName());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            end(task);
        }
    }

    /** Takes what a reduce task reads. */
    interface Sink<V> {
        long take(Iterator<Product2<Object, V>> records);
    }

    /** What a reduce task has read. */
    record Read(long result, long localBlocks, long remoteBlocks) {}

    /** Runs a reduce task over one partition of all map outputs that {@link #publish} has made known. */
    <V> Read read(ShuffleDependency<Object, V, V> shuffle, int partition, Sink<V> sink) {
        TaskContextImpl task = task(++lastTaskId);
        long result;
        try {
            result = sink.take(SparkEnv.get()
                    .shuffleManager()
                    .<Object, V>getReader(
                            shuffle.shuffleHandle(),
                            0,
                            Integer.MAX_VALUE,
                            partition,
                            partition + 1,
                            task,
                            task.taskMetrics().createTempShuffleReadMetrics())
                    .read());
        } finally {
            end(task);
        }
        ShuffleReadMetrics metrics = task.taskMetrics().shuffleReadMetrics();
        return new Read(result, metrics.localBlocksFetched(), metrics.remoteBlocksFetched());
    }

    /**
     * Makes map outputs known to readers.
     *
     * @param asPeers as if another executor at this one's address had them
     */
    void publish(ShuffleDependency<?, ?, ?> shuffle, List<Written> outputs, boolean asPeers) {
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        tracker.registerShuffle(
                shuffle.shuffleId(), outputs.size(), shuffle.partitioner().numPartitions());
        for (int i = 0; i < outputs.size(); i++) {
            MapStatus status = outputs.get(i).status();
            if (asPeers) {
                BlockManagerId own = status.location();
                status.updateLocation(BlockManagerId.apply(PEER, own.host(), own.port(), Option.empty()));
            }
            tracker.registerMapOutput(shuffle.shuffleId(), i, status);
        }
    }

    /** Removes all map outputs of a shuffle, which may then be written again. */
    void remove(ShuffleDependency<?, ?, ?> shuffle) {
        SparkEnv.get().shuffleManager().unregisterShuffle(shuffle.shuffleId());
        MapOutputTrackerMaster tracker = (MapOutputTrackerMaster) SparkEnv.get().mapOutputTracker();
        if (tracker.containsShuffle(shuffle.shuffleId())) {
            tracker.unregisterShuffle(shuffle.shuffleId());
        }
    }

    private static TaskContextImpl task(long id) {
        TaskContextImpl task = new TaskContextImpl(
                0,
                0,
                0,
                id,
                0,
                1,
                new TaskMemoryManager(SparkEnv.get().memoryManager(), id),
                new Properties(),
                SparkEnv.get().metricsSystem(),
                new TaskMetrics(),
                1,
                scala.collection.immutable.Map$.MODULE$.empty());
        TaskContext$.MODULE$.setTaskContext(task);
        return task;
    }

    private static void end(TaskContextImpl task) {
        try {
            task.markTaskCompleted(Option.empty());
            long leaked = task.taskMemoryManager().cleanUpAllAllocatedMemory();
            if (leaked != 0) {
                throw new IllegalStateException("the task has kept memory: bytes=" + leaked);
            }
        } finally {
            TaskContext$.MODULE$.unset();
        }
    }

    @Override
    public void close() {
        context.stop();
        try {
            if (Files.exists(scratch)) {
                PathUtils.deleteDirectory(scratch);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
