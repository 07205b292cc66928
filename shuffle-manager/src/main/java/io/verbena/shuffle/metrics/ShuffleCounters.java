package io.verbena.shuffle.metrics;

import java.util.concurrent.atomic.LongAdder;

/** The counters of one executor. Threads: any. */
public final class ShuffleCounters {
    private final LongAdder[] values = new LongAdder[ShuffleCounter.values().length];

    /** Creates counters at zero. */
    public ShuffleCounters() {
        for (int i = 0; i < values.length; i++) {
            values[i] = new LongAdder();
        }
    }

    /** Adds to a counter. */
    public void add(ShuffleCounter counter, long amount) {
        values[counter.ordinal()].add(amount);
    }

    /** Returns the current value. */
    public long get(ShuffleCounter counter) {
        return values[counter.ordinal()].sum();
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            long value = get(counter);
            if (value != 0) {
                text.append(text.length() == 0 ? "" : ", ").append(counter.label()).append('=').append(value);
            }
        }
        return text.length() == 0 ? "nothing shuffled" : text.toString();
    }
}
