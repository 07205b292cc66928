package io.verbena.bench.micro;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntToLongFunction;
import java.util.function.Supplier;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.rdma.RdmaShuffleManager;
import scala.Product2;
import scala.collection.Iterator;

/** A session with a shuffle that map tasks write to, the same records each. */
final class MapSide<V> implements AutoCloseable {
    /** How many partitions are read back at the start. */
    private static final int CHECKED_PARTITIONS = 16;

    private final Manager manager;
    private final Supplier<Iterator<Product2<Object, V>>> records;
    private final long count;
    private final LocalSession session;
    private final ShuffleDependency<Object, V, V> shuffle;

    /** @param count of records */
    MapSide(
            Manager manager,
            Partitioner partitioner,
            Function<SparkConf, Serializer> serializer,
            Supplier<Iterator<Product2<Object, V>>> records,
            long count) {
        this.manager = manager;
        this.records = records;
        this.count = count;
        session = LocalSession.start(manager);
        shuffle = session.shuffle(partitioner, serializer.apply(session.conf()));
    }

    /**
     * Writes a map output, reads partitions of it back, and removes it.
     *
     * @param sums what the sink makes of each partition
     */
    void check(LocalSession.Sink<V> sink, IntToLongFunction sums) {
        int partitions = shuffle.partitioner().numPartitions();
        LocalSession.Written output = write();
        Checks.require("writer", output.writer(), manager.writer(partitions));
        session.publish(shuffle, List.of(output), false);
        for (int p = 0; p < partitions; p += Math.max(1, partitions / CHECKED_PARTITIONS)) {
            Checks.require(
                    "sum of partition " + p, session.read(shuffle, p, sink).result(), sums.applyAsLong(p));
        }
        remove();
    }

    /** Runs a map task. */
    LocalSession.Written write() {
        LocalSession.Written output = session.write(shuffle, records.get());
        Checks.require("records", output.records(), count);
        return output;
    }

    /** Removes what was written. */
    void remove() {
        session.remove(shuffle);
    }

    @Override
    public void close() {
        if (manager == Manager.VERBENA) {
            Checks.require(
                    "overflow to disk, in bytes", RdmaShuffleManager.totals().get(ShuffleCounter.OVERFLOWED_BYTES), 0L);
        }
        session.close();
    }
}
