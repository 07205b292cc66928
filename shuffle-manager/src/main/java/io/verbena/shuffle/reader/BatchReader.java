package io.verbena.shuffle.reader;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * Reads blocks of known length from peers' memory in few requests, peer by peer in turn. The memory that one task's requests hold,
 * from posting until their records have been used, is bounded; one request is always admitted.
 *
 * <p>Threads: one at a time, under {@link RdmaWay}'s lock, but for {@code arrived}.
 */
final class BatchReader {
    /** Beyond this a larger request does not make a read cheaper; a map output that is longer goes alone. */
    private static final long MAX_BATCH_BYTES = 1 << 20;

    /** Of the memory held, so that some requests are under way while the records of others are used. */
    private static final int BATCHES_HELD = 4;

    private static final int BATCH_OUTPUTS = 256;

    /** A thread that feeds a pipe may still look at a record when its task is ended early; it stops at the next one. */
    private static final long GRACE_NS = TimeUnit.SECONDS.toNanos(1);

    private final PeerResources resources;
    private final long maxHeldBytes;
    private final long batchBytes;
    private final Bell bell;
    private final Map<PeerShuffle, Deque<WantedOutput>> planned = new LinkedHashMap<>();
    private final Set<ReadBatch> inFlight = new HashSet<>();
    private final ConcurrentLinkedQueue<ReadBatch> arrived = new ConcurrentLinkedQueue<>();

    /** Holds the rows that were finished last. */
    private ReadBatch latest;

    private long heldBytes;
    private int inUse;
    private boolean endedEarly;
    private volatile boolean closed;

    /** @param maxHeldBytes bound on memory held by this task, in bytes; also the largest map output that {@link #fits} */
    BatchReader(PeerResources resources, long maxHeldBytes, Bell bell) {
        this.resources = resources;
        this.maxHeldBytes = maxHeldBytes;
        this.batchBytes = Math.min(MAX_BATCH_BYTES, maxHeldBytes / BATCHES_HELD);
        this.bell = bell;
    }

    boolean fits(WantedOutput output) {
        return ReadBatch.bytes(output) <= maxHeldBytes;
    }

    /** Adds a map output whose indexes are known, of at least one byte; nothing is read before {@link #send}. */
    void add(WantedOutput output) {
        planned.computeIfAbsent(output.shuffle(), s -> new ArrayDeque<>()).add(output);
    }

    /**
     * Posts as many requests as may be in flight.
     *
     * @return map outputs for which there is no memory, now or when this task gives some back: to be had another way
     */
    List<WantedOutput> send() {
        while (!planned.isEmpty()) {
            boolean mayWait = !inFlight.isEmpty() || inUse > 0;
            if (mayWait && heldBytes + batchBytes > maxHeldBytes) {
                return List.of();
            }
            Iterator<Map.Entry<PeerShuffle, Deque<WantedOutput>>> peers =
                    planned.entrySet().iterator();
            Map.Entry<PeerShuffle, Deque<WantedOutput>> peer = peers.next();
            List<WantedOutput> next = new ArrayList<>();
            long bytes = nextBatch(peer.getValue(), next);
            if (mayWait && heldBytes + bytes > maxHeldBytes) {
                return List.of();
            }
            RegisteredBuffer memory = resources.arena().tryAcquire(bytes);
            if (memory == null && mayWait) {
                return List.of();
            }
            peers.remove();
            next.forEach(output -> peer.getValue().poll());
            if (!peer.getValue().isEmpty()) {
                // To the end, so that peers take turns.
                planned.put(peer.getKey(), peer.getValue());
            }
            if (memory == null) {
                return next;
            }
            post(new ReadBatch(next, memory, this::arrive));
        }
        return List.of();
    }

    private long nextBatch(Deque<WantedOutput> outputs, List<WantedOutput> batch) {
        long bytes = 0;
        for (WantedOutput output : outputs) {
            long more = ReadBatch.bytes(output);
            if (!batch.isEmpty() && (bytes + more > batchBytes || batch.size() == BATCH_OUTPUTS)) {
                break;
            }
            batch.add(output);
            bytes += more;
        }
        return bytes;
    }

    private void post(ReadBatch batch) {
        inFlight.add(batch);
        heldBytes += batch.bytes();
        boolean posted = false;
        try {
            batch.post(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(resources.timeoutMs()));
            posted = true;
        } finally {
            if (!posted) {
                inFlight.remove(batch);
                free(batch);
            }
        }
    }

    /** On the progress thread. */
    private void arrive(ReadBatch batch) {
        arrived.add(batch);
        bell.ring();
        // Closed between the two lines or before: whoever sees it last drains.
        if (closed) {
            drain();
        }
    }

    /** Returns the next batch that has ended, {@code null} if none has. Its map outputs are used until {@link #finished}. */
    ReadBatch poll() {
        for (ReadBatch batch = arrived.poll(); batch != null; batch = arrived.poll()) {
            if (inFlight.remove(batch)) {
                inUse++;
                return batch;
            }
            free(batch);
        }
        return null;
    }

    /**
     * One map output of a batch is not used any more. Who got its last row may use that until it asks for another one, and that may
     * be after the next source was opened; so the memory of the latest rows stays until a later source is finished too.
     *
     * @param layout of what was handed out, {@code null} if nothing was
     */
    void finished(ReadBatch batch, BlockLayout layout) {
        boolean last = batch.endUse(layout);
        if (layout != null && batch != latest && !closed) {
            freeLatest();
            latest = layout == BlockLayout.ROWS ? batch : null;
        }
        if (last) {
            inUse--;
            if (batch != latest) {
                free(batch);
            }
        }
    }

    private void freeLatest() {
        if (latest != null && latest.isUnused()) {
            free(latest);
        }
        latest = null;
    }

    private void free(ReadBatch batch) {
        heldBytes -= batch.bytes();
        if (endedEarly && batch.wasHandedOut()) {
            batch.freeLater(resources.arena(), GRACE_NS);
        } else {
            batch.free();
        }
    }

    /** The task ends before all was read; called before its sources are closed. */
    void endEarly() {
        endedEarly = true;
    }

    /** True when nothing is to be read and nothing is being read. */
    boolean isIdle() {
        return planned.isEmpty() && inFlight.isEmpty();
    }

    /** Gives up on everything that has not arrived; what is in flight is freed when it ends. */
    List<WantedOutput> abandon() {
        List<WantedOutput> given = new ArrayList<>();
        inFlight.forEach(batch -> given.addAll(batch.outputs()));
        inFlight.clear();
        planned.values().forEach(given::addAll);
        planned.clear();
        return given;
    }

    /** Frees what has arrived; what is in flight is freed by the progress thread. All that was polled is finished. */
    void close() {
        closed = true;
        freeLatest();
        drain();
    }

    private void drain() {
        for (ReadBatch batch = arrived.poll(); batch != null; batch = arrived.poll()) {
            batch.free();
        }
    }
}
