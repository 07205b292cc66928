package io.verbena.shuffle.testing;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a condition with a deadline. */
public final class Await {
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private Await() {}

    /** Fails with the description if the condition is not true within 20 seconds. */
    public static void until(String description, BooleanSupplier condition) {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new AssertionError("not within " + LIMIT + ": " + description);
            }
            LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
        }
    }
}
