package io.verbena.arena;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.threads.DaemonThreads;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Retired buffers that a straggling reader may still read. A background thread polls every 200 ms while there are any.
 *
 * <p>Threads: any; guarded by this. Conditions are asked without the lock and may be asked by several threads at once.
 */
final class Quarantine {
    private static final Logger LOG = LoggerFactory.getLogger(Quarantine.class);
    private static final long POLL_MS = 200;

    private final Consumer<List<RegisteredBuffer>> freer;
    private final ScheduledThreadPoolExecutor poller = DaemonThreads.scheduler("arena-quarantine");

    @GuardedBy("this")
    private final Map<RegisteredBuffer, BooleanSupplier> waiting = new LinkedHashMap<>();

    @GuardedBy("this")
    private boolean polling;

    /** @param freer frees buffers that nobody reads any more; called without a lock held here */
    Quarantine(Consumer<List<RegisteredBuffer>> freer) {
        this.freer = freer;
    }

    synchronized void add(RegisteredBuffer buffer, BooleanSupplier unread) {
        waiting.put(buffer, unread);
        schedule();
    }

    /** Frees what is unread now; returns how many buffers. */
    int poll() {
        Map<RegisteredBuffer, BooleanSupplier> snapshot;
        synchronized (this) {
            if (waiting.isEmpty()) {
                return 0;
            }
            snapshot = new LinkedHashMap<>(waiting);
        }
        // One answer per condition and poll: thousands of buffers of one shuffle share a condition that is a system
        // call.
        Set<BooleanSupplier> conditions = Collections.newSetFromMap(new IdentityHashMap<>());
        conditions.addAll(snapshot.values());
        conditions.removeIf(condition -> !ask(condition));
        List<RegisteredBuffer> unread = new ArrayList<>();
        synchronized (this) {
            for (Map.Entry<RegisteredBuffer, BooleanSupplier> entry : snapshot.entrySet()) {
                if (conditions.contains(entry.getValue()) && waiting.remove(entry.getKey()) != null) {
                    unread.add(entry.getKey());
                }
            }
        }
        freer.accept(unread);
        return unread.size();
    }

    /** Stops polling and returns what is left. */
    synchronized List<RegisteredBuffer> drain() {
        poller.shutdownNow();
        List<RegisteredBuffer> rest = List.copyOf(waiting.keySet());
        waiting.clear();
        return rest;
    }

    /** A condition that cannot be asked protects its buffer for ever: memory is lost rather than handed to a second owner. */
    private static boolean ask(BooleanSupplier condition) {
        try {
            return condition.getAsBoolean();
        } catch (RuntimeException e) {
            LOG.warn("cannot ask whether retired memory is unread; it stays in quarantine", e);
            return false;
        }
    }

    @GuardedBy("this")
    private void schedule() {
        if (polling || waiting.isEmpty() || poller.isShutdown()) {
            return;
        }
        try {
            polling = !poller.schedule(this::pollAndReschedule, POLL_MS, TimeUnit.MILLISECONDS)
                    .isCancelled();
        } catch (RejectedExecutionException e) {
            LOG.debug("quarantine is closed", e);
        }
    }

    private void pollAndReschedule() {
        try {
            poll();
        } finally {
            synchronized (this) {
                polling = false;
                schedule();
            }
        }
    }
}
