package io.verbena.shuffle.sort;

import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.collection.SizeTrackingVector;
import org.apache.spark.util.collection.Spillable;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;

/**
 * Puts the records of a reduce task in the order of their keys. It stands in for Spark's ExternalSorter, and follows its rules for
 * memory: the size of what is held is estimated from samples, memory is asked for in doubling steps, and what finds none goes to
 * disk as a sorted run. While the sorted records are read, the rest goes to disk too if another consumer of the task needs memory.
 *
 * <p>Ownership: memory and files are given back when all has been read or the task ends. Threads: confined to the task's;
 * {@link #spill(long, MemoryConsumer)} may come from another thread of it.
 */
public final class KeySorter extends Spillable<SizeTrackingVector<Object>> {
    /** The radix sort needs two longs a record in one array. */
    private static final int MAX_RUN_RECORDS = 1 << 29;

    private final TaskContext context;
    private final Comparator<Object> keys;
    private final RecordSort sort;
    private final SpillFiles files;
    private final CounterSink counters;
    private final int runRecords;
    private long peakBytes;
    /** What is left in memory once all has been sorted. */
    private volatile MemoryRun output;

    /** Creates a sorter that holds nothing. */
    public KeySorter(TaskContext context, Comparator<?> ordering, Serializer serializer, CounterSink counters) {
        this(context, ordering, serializer, counters, MAX_RUN_RECORDS);
    }

    @SuppressWarnings("unchecked") // Only keys of the shuffle are compared.
    KeySorter(
            TaskContext context, Comparator<?> ordering, Serializer serializer, CounterSink counters, int runRecords) {
        super(context.taskMemoryManager());
        this.context = context;
        this.keys = (Comparator<Object>) ordering;
        this.sort = new RecordSort(keys);
        this.files = new SpillFiles(serializer, context);
        this.counters = counters;
        this.runRecords = runRecords;
    }

    /**
     * Reads and sorts all records; called once.
     *
     * @return the sorted records, to be read once
     */
    public <K, C> Iterator<Product2<K, C>> sort(Iterator<? extends Product2<K, C>> records) {
        context.addTaskCompletionListener((TaskCompletionListener) ended -> close());
        SizeTrackingVector<Object> collected = empty();
        while (records.hasNext()) {
            addElementsRead();
            collected.$plus$eq(immutable(records.next()));
            if (maybeSpill(collected, bytes(collected))) {
                collected = empty();
            } else if (collected.length() == runRecords) {
                spill(collected);
                releaseMemory();
                collected = empty();
            }
        }
        MemoryRun rest = new MemoryRun(sorted(collected), collected.length());
        context.taskMetrics().incMemoryBytesSpilled(memoryBytesSpilled());
        context.taskMetrics().incPeakExecutionMemory(peakBytes);
        List<Iterator<Tuple2<Object, Object>>> runs = new ArrayList<>(files.runs());
        runs.add(rest);
        Iterator<Tuple2<Object, Object>> merged = runs.size() == 1 ? rest : new RunMerge(keys, runs);
        // Last: from now on another thread may move the rest to a file, which is not a run of its own.
        output = rest;
        return new Sorted<>(merged);
    }

    private static SizeTrackingVector<Object> empty() {
        return new SizeTrackingVector<>(ClassTag$.MODULE$.Object());
    }

    /** The record itself, unless its owner might change it. */
    private static Tuple2<?, ?> immutable(Product2<?, ?> record) {
        return record instanceof Tuple2<?, ?> tuple ? tuple : new Tuple2<>(record._1(), record._2());
    }

    private static long bytes(SizeTrackingVector<Object> collected) {
        return collected.estimateSize() + (long) collected.length() * RecordSort.BYTES_PER_RECORD;
    }

    private Object[] sorted(SizeTrackingVector<Object> collected) {
        peakBytes = Math.max(peakBytes, bytes(collected));
        Object[] unsorted = (Object[]) collected.array();
        Object[] sorted = sort.sort(unsorted, collected.length());
        counters.add(sorted == unsorted ? ShuffleCounter.SORTS_BY_COMPARISON : ShuffleCounter.SORTS_BY_PREFIX, 1);
        return sorted;
    }

    /** Called by {@link #maybeSpill} when there is no memory for more than has been collected. */
    @Override
    public void spill(SizeTrackingVector<Object> collected) {
        files.write(sorted(collected), 0, collected.length());
    }

    @Override
    public boolean forceSpill() {
        MemoryRun run = output;
        return run != null && run.moveTo(files);
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) {
        long freed = super.spill(size, trigger);
        context.taskMetrics().incMemoryBytesSpilled(freed);
        return freed;
    }

    private void close() {
        output = null;
        releaseMemory();
        files.close();
    }

    /** Gives memory and files back at the end, not only when the task ends. */
    private final class Sorted<K, C> extends AbstractIterator<Product2<K, C>> {
        private final Iterator<Tuple2<Object, Object>> records;

        Sorted(Iterator<Tuple2<Object, Object>> records) {
            this.records = records;
        }

        @Override
        public boolean hasNext() {
            if (records.hasNext()) {
                return true;
            }
            close();
            return false;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Product2<K, C> next() {
            return (Product2<K, C>) records.next();
        }
    }
}
