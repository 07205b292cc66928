package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.fallback.FallbackReason;
import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.writer.SparkStageWriter;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.api.ShuffleExecutorComponents;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.SingleSpillShuffleMapOutputWriter;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Points the output stage of Spark's own writers at registered memory for the map outputs we ask it to, and leaves all others on
 * disk. Only executors see it: the driver's components stay Spark's.
 *
 * <p>Threads: any; the table of directed map outputs is concurrent, an entry lives as long as its map task.
 */
public final class StoreDataIo extends LocalDiskShuffleDataIO {
    private static final String PLUGIN = "spark.shuffle.sort.io.plugin.class";
    private static final Map<Long, Directed> DIRECTED = new ConcurrentHashMap<>();

    private record Directed(int shuffleId, ExecutorRuntime runtime, CounterSink counters, TaskContext context) {}

    /** Creates the plugin, as Spark does. */
    public StoreDataIo(SparkConf conf) {
        super(conf);
    }

    /** Returns the configuration for the superclass of our manager: Spark's, with this plugin as its output stage. */
    static SparkConf into(SparkConf conf) {
        return FallbackReason.hasCustomDataIo(conf) ? conf : conf.clone().set(PLUGIN, StoreDataIo.class.getName());
    }

    /** Directs the output of one map task to memory, until the task ends. */
    static void direct(int shuffleId, long mapId, ExecutorRuntime runtime, CounterSink counters, TaskContext context) {
        DIRECTED.put(mapId, new Directed(shuffleId, runtime, counters, context));
        context.addTaskCompletionListener((TaskCompletionListener) ended -> DIRECTED.remove(mapId));
    }

    @Override
    public ShuffleExecutorComponents executor() {
        return new Components(super.executor());
    }

    private record Components(ShuffleExecutorComponents onDisk) implements ShuffleExecutorComponents {
        @Override
        public void initializeExecutor(String appId, String execId, Map<String, String> extraConfigs) {
            onDisk.initializeExecutor(appId, execId, extraConfigs);
        }

        @Override
        public ShuffleMapOutputWriter createMapOutputWriter(int shuffleId, long mapTaskId, int numPartitions)
                throws IOException {
            Directed directed = directed(shuffleId, mapTaskId);
            return directed == null
                    ? onDisk.createMapOutputWriter(shuffleId, mapTaskId, numPartitions)
                    : new SparkStageWriter(
                            directed.runtime().writers(),
                            directed.counters(),
                            shuffleId,
                            mapTaskId,
                            numPartitions,
                            directed.context());
        }

        @Override
        public Optional<SingleSpillShuffleMapOutputWriter> createSingleFileMapOutputWriter(int shuffleId, long mapId)
                throws IOException {
            // A single spill file would be moved in place as a file; without this writer Spark copies it through the
            // one above.
            return directed(shuffleId, mapId) == null
                    ? onDisk.createSingleFileMapOutputWriter(shuffleId, mapId)
                    : Optional.empty();
        }

        private static Directed directed(int shuffleId, long mapId) {
            Directed directed = DIRECTED.get(mapId);
            return directed != null && directed.shuffleId() == shuffleId ? directed : null;
        }
    }
}
