package io.verbena.shuffle.metrics;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** The counters of one executor. Threads: any. */
public final class ShuffleCounters implements CounterSink {
    private final Map<ShuffleCounter, LongAdder> values = new EnumMap<>(ShuffleCounter.class);

    /** Creates counters at zero. */
    public ShuffleCounters() {
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            values.put(counter, new LongAdder());
        }
    }

    @Override
    public void add(ShuffleCounter counter, long amount) {
        values.get(counter).add(amount);
    }

    /** Returns the current value. */
    public long get(ShuffleCounter counter) {
        return values.get(counter).sum();
    }
}
