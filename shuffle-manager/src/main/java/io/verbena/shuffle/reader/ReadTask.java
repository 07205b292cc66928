package io.verbena.shuffle.reader;

import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.concurrent.TimeUnit;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.unsafe.Platform;

/**
 * What the ways of one reduce task share: what is read, and where counts and failures go.
 *
 * <p>Threads: confined to the task, since Spark's metrics are.
 *
 * @param resources the executor's
 * @param shuffleId the shuffle
 * @param partitions its number of reduce partitions
 * @param metrics Spark's
 * @param counters ours
 */
record ReadTask(
        ReaderResources resources,
        int shuffleId,
        int partitions,
        ShuffleReadMetricsReporter metrics,
        CounterSink counters) {

    /** Counts map outputs that were read from this host. */
    void local(int mapOutputs, long bytes, ShuffleCounter counter) {
        metrics.incLocalBlocksFetched(mapOutputs);
        metrics.incLocalBytesRead(bytes);
        counters.add(counter, bytes);
    }

    /** Counts a map output that came over a network. */
    void remote(long bytes, ShuffleCounter counter) {
        metrics.incRemoteBlocksFetched(1);
        metrics.incRemoteBytesRead(bytes);
        counters.add(counter, bytes);
    }

    /** Counts a wait since then, on the clock of {@link System#nanoTime}. */
    void waited(long beganNs) {
        metrics.incFetchWaitTime(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNs));
    }

    /** The one place where a failure becomes Spark's: its constructor already marks the task as failed by a fetch. */
    RuntimeException fail(MapRef ref, Throwable cause) {
        counters.add(ShuffleCounter.FETCH_FAILURES, 1);
        String message = "fetch of shuffle_" + shuffleId + "_" + ref.mapId() + "_" + ref.startReduceId() + " from "
                + BlockClient.name(ref.location()) + " failed: " + cause.getMessage();
        return raise(new FetchFailedException(
                ref.location(), shuffleId, ref.mapId(), ref.mapIndex(), ref.startReduceId(), message, cause));
    }

    /** Throws a checked exception that Scala's world expects; declared to return so that callers can write {@code throw}. */
    static RuntimeException raise(Throwable e) {
        Platform.throwException(e);
        return new IllegalStateException(e);
    }
}
