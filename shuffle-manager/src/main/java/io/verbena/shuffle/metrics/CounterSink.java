package io.verbena.shuffle.metrics;

/** Where a part of the shuffle reports what it did. */
@FunctionalInterface
public interface CounterSink {
    /** Adds to a counter. */
    void add(ShuffleCounter counter, long amount);

    /** Reports to this and to another sink. */
    default CounterSink and(CounterSink other) {
        return (counter, amount) -> {
            add(counter, amount);
            other.add(counter, amount);
        };
    }
}
