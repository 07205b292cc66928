package io.verbena.bench.jobs;

import org.apache.spark.Aggregator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;
import scala.collection.Iterator$;

/**
 * A shuffle that takes records and gives none: the lower bound of what a job costs. Map-side combining is done, because no shuffle
 * can leave it out. Results of jobs are wrong.
 *
 * <p>Extends Spark's manager because Spark SQL copies every row for one that does not. Threads: any; has no state.
 */
public final class NullShuffleManager extends SortShuffleManager {
    /** Creates the manager, as Spark does. */
    public NullShuffleManager(SparkConf conf) {
        super(conf);
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        return new BaseShuffleHandle<>(shuffleId, dependency);
    }

    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        @SuppressWarnings("unchecked")
        BaseShuffleHandle<K, V, ?> own = (BaseShuffleHandle<K, V, ?>) handle;
        return new NullWriter<>(own.dependency(), mapId, context);
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
        return Iterator$.MODULE$::empty;
    }

    private static final class NullWriter<K, V, C> extends ShuffleWriter<K, V> {
        private final ShuffleDependency<K, V, C> dependency;
        private final long mapId;
        private final TaskContext context;
        private final long[] lengths;

        NullWriter(ShuffleDependency<K, V, C> dependency, long mapId, TaskContext context) {
            this.dependency = dependency;
            this.mapId = mapId;
            this.context = context;
            this.lengths = new long[dependency.partitioner().numPartitions()];
        }

        @Override
        public void write(Iterator<Product2<K, V>> records) {
            if (dependency.mapSideCombine()) {
                Aggregator<K, V, C> aggregator = dependency.aggregator().get();
                drain(aggregator.combineValuesByKey(records, context));
            } else {
                drain(records);
            }
        }

        private static void drain(Iterator<?> records) {
            while (records.hasNext()) {
                Object unused = records.next();
            }
        }

        @Override
        public Option<MapStatus> stop(boolean success) {
            return success
                    ? Option.apply(MapStatus$.MODULE$.apply(
                            SparkEnv.get().blockManager().shuffleServerId(), lengths, mapId))
                    : Option.empty();
        }

        @Override
        public long[] getPartitionLengths() {
            return lengths;
        }
    }
}
