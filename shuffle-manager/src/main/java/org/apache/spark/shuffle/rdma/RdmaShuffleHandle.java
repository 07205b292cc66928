package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.metrics.ShuffleTotals;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;

/**
 * Marks a shuffle as ours; everything that is decided about a shuffle travels in it, so no table on the driver can disagree.
 *
 * <p>Threads: immutable; the totals are the task's own copy.
 */
final class RdmaShuffleHandle<K, V, C> extends BaseShuffleHandle<K, V, C> {
    private static final long serialVersionUID = 1L;

    private final ShuffleHandle sparkHandle;
    private final boolean pairs;
    private final ShuffleTotals totals;

    /**
     * Creates a handle.
     *
     * @param sparkHandle the handle for Spark's own writers when the serializer cannot relocate objects, else {@code null}
     * @param pairs whether keys and values of basic types are written as they are
     */
    RdmaShuffleHandle(
            int shuffleId,
            ShuffleDependency<K, V, C> dependency,
            ShuffleHandle sparkHandle,
            boolean pairs,
            ShuffleTotals totals) {
        super(shuffleId, dependency);
        this.sparkHandle = sparkHandle;
        this.pairs = pairs;
        this.totals = totals;
    }

    ShuffleHandle sparkHandle() {
        return sparkHandle;
    }

    boolean pairs() {
        return pairs;
    }

    ShuffleTotals totals() {
        return totals;
    }
}
