package io.verbena.shuffle.reader;

import io.verbena.arena.Arena;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.Transport;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * What reading from other executors' memory takes; owned by the executor's runtime. Immutable, its parts are safe for any thread.
 *
 * @param transport leads to their memory
 * @param arena memory that reads without views arrive in
 * @param client Spark's block transfer, for descriptors and directories
 * @param counters of this executor
 * @param background where work runs that may wait: connecting, fetching directories, reading indexes
 * @param timeoutMs how long to wait for any answer
 * @param retryIntervalMs how long a peer stays demoted, see {@link ReconnectPolicy}
 */
public record PeerResources(
        Transport transport,
        Arena arena,
        BlockClient client,
        ShuffleCounters counters,
        Executor background,
        long timeoutMs,
        long retryIntervalMs) {
    /** Connecting and leasing have a fallback, which must still find time before {@link #timeoutMs} is over. */
    private static final long MAX_CONNECT_MS = 10_000;

    private static final int CONNECT_SHARE = 4;

    /** How long to wait for a connection or a lease before the peer is read over Spark's block transfer. */
    long connectTimeoutMs() {
        return Math.max(1, Math.min(MAX_CONNECT_MS, timeoutMs / CONNECT_SHARE));
    }

    /** Runs the work in the background, or here if the background has ended: it may have to give memory back. */
    void inBackground(Runnable work) {
        try {
            background.execute(work);
        } catch (RejectedExecutionException e) {
            work.run();
        }
    }
}
