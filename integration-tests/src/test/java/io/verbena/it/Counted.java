package io.verbena.it;

import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleTotals;
import java.util.EnumMap;
import java.util.Map;
import org.apache.spark.shuffle.rdma.RdmaShuffleManager;

/** What the driver's totals have grown by since a moment; right too when the application's first shuffle is still to come. */
final class Counted {
    private final ShuffleTotals totals = RdmaShuffleManager.totals();
    private final Map<ShuffleCounter, Long> before = new EnumMap<>(ShuffleCounter.class);

    private Counted() {
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            before.put(counter, totals.get(counter));
        }
    }

    static Counted fromNow() {
        return new Counted();
    }

    long of(ShuffleCounter counter) {
        ShuffleTotals now = RdmaShuffleManager.totals();
        // Another application has totals of its own, which began at zero.
        return now.get(counter) - (now == totals ? before.get(counter) : 0);
    }

    @Override
    public String toString() {
        return RdmaShuffleManager.totals().value();
    }
}
