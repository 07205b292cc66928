package io.verbena.shuffle.seam;

import org.apache.spark.ShuffleDependency;

/**
 * The order-independent row checksums of Spark 4.1 and later. With them Spark 4.2 notices that a retried map task produced other
 * rows; a writer that reports 0 makes it give wrong results in jobs that succeed.
 *
 * <p>Threads: confined to the map task.
 */
public final class RowChecksums {
    private final Object[] checksums;

    /** Takes the task's checksums from its own copy of the dependency. */
    public RowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        this.checksums = SparkSeam.rowChecksums(dependency);
    }

    /** Accounts for a record, before it is serialised. */
    public void update(int partition, Object key, Object value) {
        if (checksums.length != 0) {
            SparkSeam.update(checksums[partition], key, value);
        }
    }

    /** The value for the map status; 0 when Spark asked for none. */
    public long value() {
        return checksums.length == 0 ? 0 : SparkSeam.aggregate(checksums);
    }
}
