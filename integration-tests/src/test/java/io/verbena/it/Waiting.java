package io.verbena.it;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for conditions, in a test or in a task of its application. */
final class Waiting {
    private static final long PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(50);

    private Waiting() {}

    /** Waits for a condition, at most that long; returns whether it came. */
    static boolean within(long seconds, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (System.nanoTime() < deadline) {
            if (condition.getAsBoolean()) {
                return true;
            }
            LockSupport.parkNanos(PERIOD_NS);
        }
        return condition.getAsBoolean();
    }
}
