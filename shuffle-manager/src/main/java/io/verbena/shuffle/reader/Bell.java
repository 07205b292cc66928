package io.verbena.shuffle.reader;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Wakes a reduce task when something has come, by whichever way. Who rings has made it visible before; who is woken looks
 * everywhere, so that one wait serves all rings before it.
 *
 * <p>Threads: any rings, the task waits.
 */
final class Bell {
    private final Semaphore rings = new Semaphore(0);

    void ring() {
        rings.release();
    }

    /** Waits for a ring since the last wait; returns false if none came in time. */
    boolean await(long timeoutMs) throws InterruptedException {
        boolean rang = rings.tryAcquire(timeoutMs, TimeUnit.MILLISECONDS);
        rings.drainPermits();
        return rang;
    }
}
