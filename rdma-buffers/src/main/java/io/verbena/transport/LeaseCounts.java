package io.verbena.transport;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.HashMap;
import java.util.Map;

/** Leases that are held within this process. Threads: any; guarded by this. */
public final class LeaseCounts {
    @GuardedBy("this")
    private final Map<Integer, Integer> counts = new HashMap<>();

    /** Adds a holder. */
    public synchronized ReadLease hold(int key) {
        counts.merge(key, 1, Integer::sum);
        return new CountedLease(key, () -> release(key));
    }

    /** Returns whether anybody holds the key. */
    public synchronized boolean isHeld(int key) {
        return counts.containsKey(key);
    }

    /** Returns the number of keys that are held. */
    public synchronized int size() {
        return counts.size();
    }

    private synchronized void release(int key) {
        counts.computeIfPresent(key, (k, count) -> count == 1 ? null : count - 1);
    }
}
