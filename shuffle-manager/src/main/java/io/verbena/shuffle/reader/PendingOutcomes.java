package io.verbena.shuffle.reader;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Work elsewhere that map outputs of a reduce task wait for, whose outcome the task handles itself.
 *
 * <p>Threads: one at a time, under {@link RdmaWay}'s lock; futures complete on any.
 */
final class PendingOutcomes {
    /** Handles an outcome. */
    interface Handler<T> {
        /** @param failure {@code null} unless it failed */
        void handle(T result, Throwable failure);
    }

    private final Bell bell;
    private final Queue<Runnable> come = new ConcurrentLinkedQueue<>();
    private final Map<Object, List<WantedOutput>> waiting = new HashMap<>();

    PendingOutcomes(Bell bell) {
        this.bell = bell;
    }

    /** Has the outcome handled by {@link #handle}, unless it is abandoned before. */
    <T> void await(CompletableFuture<T> future, List<WantedOutput> outputs, Handler<T> handler) {
        Object ticket = new Object();
        waiting.put(ticket, outputs);
        CompletableFuture<T> unused = future.whenComplete((result, failure) -> {
            come.add(() -> {
                if (waiting.remove(ticket) != null) {
                    handler.handle(result, failure);
                }
            });
            bell.ring();
        });
    }

    /** Handles the outcomes that have come. */
    void handle() {
        for (Runnable outcome = come.poll(); outcome != null; outcome = come.poll()) {
            outcome.run();
        }
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** Stops waiting; returns the map outputs that waited. */
    List<WantedOutput> abandon() {
        List<WantedOutput> outputs = new ArrayList<>();
        waiting.values().forEach(outputs::addAll);
        waiting.clear();
        return outputs;
    }
}
