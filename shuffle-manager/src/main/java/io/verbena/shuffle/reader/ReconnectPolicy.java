package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.concurrent.TimeUnit;

/**
 * When a peer may be connected to again after it could not be, or after a connection broke.
 *
 * <p>The first failures are answered with pauses that double; {@link #MAX_FAILURES} within one interval demote the peer for an
 * interval. The first connection after that counts as a recovery, on probation: if it breaks within an interval the peer is
 * demoted again at once.
 *
 * <p>Times are on one clock of nanoseconds that the caller reads. Threads: any; guarded by this.
 */
final class ReconnectPolicy {
    static final int MAX_FAILURES = 3;
    static final long FIRST_PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

    private final long intervalNs;

    @GuardedBy("this")
    private int failures;

    @GuardedBy("this")
    private long firstFailureNs;

    @GuardedBy("this")
    private boolean pausing;

    @GuardedBy("this")
    private long pauseEndNs;

    @GuardedBy("this")
    private boolean demoted;

    /** @param intervalNs how long a demotion lasts, and how long a failure counts */
    ReconnectPolicy(long intervalNs) {
        this.intervalNs = intervalNs;
    }

    synchronized boolean mayConnect(long nowNs) {
        return !pausing || nowNs - pauseEndNs >= 0;
    }

    /**
     * A connection could not be made in time, or broke.
     *
     * @return true if this demotes the peer; false if it is demoted already or only pauses
     */
    synchronized boolean failed(long nowNs) {
        if (failures == 0 || nowNs - firstFailureNs >= intervalNs) {
            failures = 0;
            firstFailureNs = nowNs;
        }
        failures++;
        if (!demoted && failures < MAX_FAILURES) {
            pause(nowNs, Math.min(intervalNs, FIRST_PAUSE_NS << (failures - 1)));
            return false;
        }
        pause(nowNs, intervalNs);
        boolean now = !demoted;
        demoted = true;
        return now;
    }

    /** No way leads to the peer, which is not a fault; it may get one later. */
    synchronized void unreachable(long nowNs) {
        pause(nowNs, intervalNs);
    }

    /**
     * A connection was made.
     *
     * @return true if the peer was demoted before
     */
    synchronized boolean connected(long nowNs) {
        pausing = false;
        if (!demoted) {
            return false;
        }
        demoted = false;
        failures = MAX_FAILURES - 1;
        firstFailureNs = nowNs;
        return true;
    }

    private synchronized void pause(long nowNs, long lengthNs) {
        pausing = true;
        pauseEndNs = nowNs + lengthNs;
    }
}
