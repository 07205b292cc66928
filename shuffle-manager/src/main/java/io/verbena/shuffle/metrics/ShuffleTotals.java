package io.verbena.shuffle.metrics;

import java.util.EnumMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.spark.util.AccumulatorV2;

/**
 * What the application's successful tasks counted, summed up on the driver by Spark's accumulators: it needs no channel of its
 * own, and shows in the UI's stage pages. What executors do outside tasks (evictions, answers to peers) is in their own metrics.
 *
 * <p>Threads: guarded by {@code this}; a task adds, the driver's event loop merges, anyone reads.
 */
public final class ShuffleTotals extends AccumulatorV2<Map<ShuffleCounter, Long>, String> implements CounterSink {
    private static final long serialVersionUID = 1L;

    private final EnumMap<ShuffleCounter, Long> values = new EnumMap<>(ShuffleCounter.class);

    /** Creates totals at zero. */
    public ShuffleTotals() {}

    @Override
    public synchronized void add(ShuffleCounter counter, long amount) {
        if (amount != 0) {
            values.merge(counter, amount, Long::sum);
        }
    }

    /** Returns the current sum of a counter. */
    public synchronized long get(ShuffleCounter counter) {
        return values.getOrDefault(counter, 0L);
    }

    private synchronized Map<ShuffleCounter, Long> snapshot() {
        return new EnumMap<>(values);
    }

    @Override
    public synchronized boolean isZero() {
        return values.isEmpty();
    }

    @Override
    public AccumulatorV2<Map<ShuffleCounter, Long>, String> copy() {
        ShuffleTotals copy = new ShuffleTotals();
        copy.add(snapshot());
        return copy;
    }

    @Override
    public synchronized void reset() {
        values.clear();
    }

    @Override
    public synchronized void add(Map<ShuffleCounter, Long> amounts) {
        amounts.forEach(this::add);
    }

    @Override
    public void merge(AccumulatorV2<Map<ShuffleCounter, Long>, String> other) {
        add(((ShuffleTotals) other).snapshot());
    }

    @Override
    public String value() {
        Map<ShuffleCounter, Long> now = snapshot();
        return now.isEmpty()
                ? "nothing shuffled"
                : now.entrySet().stream()
                        .map(e -> e.getKey().label() + "=" + e.getValue())
                        .collect(Collectors.joining(", "));
    }
}
