package io.verbena.shuffle.reader;

import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.seam.SparkSeam;
import io.verbena.shuffle.sort.KeySorter;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.util.TaskCompletionListener;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.math.Ordering;

/**
 * Reads a range of reduce partitions from a range of map outputs; aggregation is Spark's, ordering is {@link KeySorter}'s.
 *
 * <p>Threads: confined to the reduce task's thread.
 */
public final class RegisteredReader<K, C> implements ShuffleReader<K, C> {
    private final ReaderResources resources;
    private final ShuffleDependency<K, ?, C> dependency;
    private final int rowFields;
    private final MapOutputTracker tracker;
    private final int startMapIndex;
    private final int endMapIndex;
    private final int startPartition;
    private final int endPartition;
    private final TaskContext context;
    private final ShuffleReadMetricsReporter metrics;
    private final CounterSink counters;

    /**
     * Creates a reader.
     *
     * @param rowFields fields of a row if the shuffle's records may be rows in place, else negative
     * @param counters told what the task did
     * @param endMapIndex one past the last map output, or Integer.MAX_VALUE for all
     */
    public RegisteredReader(
            ReaderResources resources,
            ShuffleDependency<K, ?, C> dependency,
            int rowFields,
            MapOutputTracker tracker,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics,
            CounterSink counters) {
        this.resources = resources;
        this.dependency = dependency;
        this.rowFields = rowFields;
        this.tracker = tracker;
        this.startMapIndex = startMapIndex;
        this.endMapIndex = endMapIndex;
        this.startPartition = startPartition;
        this.endPartition = endPartition;
        this.context = context;
        this.metrics = metrics;
        this.counters = counters;
    }

    @Override
    @SuppressWarnings({"unchecked", "rawtypes"})
    public Iterator<Product2<K, C>> read() {
        int shuffleId = dependency.shuffleId();
        FetchPlan plan = FetchPlan.of(tracker, shuffleId, startMapIndex, endMapIndex, startPartition, endPartition);
        SourceQueue sources =
                new SourceQueue(resources, shuffleId, dependency.partitioner().numPartitions(), metrics, counters);
        RecordDecoder records = new RecordDecoder(
                sources,
                dependency.serializer().newInstance(),
                resources.serializers(),
                rowFields < 0 ? null : new RowCursor(rowFields),
                shuffleId,
                metrics);
        context.addTaskCompletionListener((TaskCompletionListener) ended -> {
            sources.close();
            records.report();
            context.taskMetrics().mergeShuffleReadMetrics();
        });
        sources.start(plan);
        Iterator input = new InterruptibleIterator(context, new Merging(records));
        Iterator<Product2<K, C>> result = aggregated(input);
        if (dependency.keyOrdering().isDefined()) {
            Ordering<K> ordering = dependency.keyOrdering().get();
            result = resources.ownSort()
                    ? new KeySorter(context, ordering, dependency.serializer(), counters).sort(result)
                    : SparkSeam.<K, C>sorterByKey(context, ordering, dependency.serializer())
                            .insertAllAndUpdateMetrics((Iterator) result);
        }
        // Aggregation and sorting have consumed the interruptible iterator; what they return needs one of its own.
        return result instanceof InterruptibleIterator ? result : new InterruptibleIterator<>(context, result);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private Iterator<Product2<K, C>> aggregated(Iterator input) {
        if (dependency.aggregator().isEmpty()) {
            return input;
        }
        Aggregator aggregator = dependency.aggregator().get();
        return dependency.mapSideCombine()
                ? aggregator.combineCombinersByKey(input, context)
                : aggregator.combineValuesByKey(input, context);
    }

    /** Puts what was read into the task's metrics as soon as there is no more. */
    private final class Merging extends AbstractIterator<Object> {
        private final RecordDecoder records;

        Merging(RecordDecoder records) {
            this.records = records;
        }

        @Override
        public boolean hasNext() {
            if (records.hasNext()) {
                return true;
            }
            context.taskMetrics().mergeShuffleReadMetrics();
            return false;
        }

        @Override
        public Object next() {
            return records.next();
        }
    }
}
