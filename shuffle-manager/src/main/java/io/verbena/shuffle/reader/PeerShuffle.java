package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One shuffle's map outputs in one peer's memory, as this executor knows them: the directory, and what has been checked once for
 * all tasks: run images where the memory is mapped, run indexes where it is read.
 *
 * <p>Lifetime: its lease on the shuffle ends when it is closed and no read is under way ({@link #hold}); whatever it knows was
 * learnt under that lease, so the memory still holds it. Counted by {@link PeerRegistry}.
 *
 * <p>Threads: any; one refresh at a time under {@code this}.
 */
final class PeerShuffle {
    private final Peer peer;
    private final PeerResources resources;
    private final int shuffleId;
    private final RemoteMemory memory;
    private final ReadLease lease;
    private final Map<IndexSpan, Indexed> whole = new ConcurrentHashMap<>();
    private final Set<Long> refusedFiles = ConcurrentHashMap.newKeySet();
    private final Map<Long, List<RunImage>> images = new ConcurrentHashMap<>();
    private volatile MapOutputDirectory directory;

    /** Map outputs that a refresh did not bring: migrated here from elsewhere, so served from a file. */
    private final Set<Long> absent = ConcurrentHashMap.newKeySet();

    /** Keys of segments that this way does not lead to, whatever the descriptor says: plain memory, for a neighbour. */
    private final Set<Integer> outOfReach = ConcurrentHashMap.newKeySet();

    private final AtomicLong refreshes = new AtomicLong();

    /** Reads under way, plus one until it is closed. */
    private final AtomicInteger holds = new AtomicInteger(1);

    @GuardedBy("this")
    private CompletableFuture<Void> refreshing;

    /** Takes over the lease. */
    PeerShuffle(
            Peer peer,
            PeerResources resources,
            int shuffleId,
            RemoteMemory memory,
            ReadLease lease,
            MapOutputDirectory directory) {
        this.peer = peer;
        this.resources = resources;
        this.shuffleId = shuffleId;
        this.memory = memory;
        this.lease = lease;
        this.directory = directory;
    }

    /** Whether its memory is read where it lies; if not, it is copied by {@link #read}. */
    boolean inPlace() {
        return memory.supportsViews();
    }

    /** False once the connection it was opened through is dead: a new task opens another. */
    boolean isUsable() {
        return inPlace() || memory.isAlive();
    }

    /**
     * What reading without views needs to know of the map outputs' indexes.
     *
     * @param runs indexes of runs in memory
     * @param files that the peer was asked to make readable
     */
    record Indexed(RunIndexes runs, PinnedOutputs files) {}

    /** Whole indexes are the same object for all tasks; others, which a few tasks need at most, are the caller's alone. */
    Indexed indexed(IndexSpan span) {
        return span.isWhole() ? whole.computeIfAbsent(span, this::newIndexed) : newIndexed(span);
    }

    private Indexed newIndexed(IndexSpan span) {
        return new Indexed(
                new RunIndexes(this, resources, span), new PinnedOutputs(this, peer, resources, span, refusedFiles));
    }

    int shuffleId() {
        return shuffleId;
    }

    PeerResources resources() {
        return resources;
    }

    /** A number that changes with every refresh; see {@link #find}. */
    long generation() {
        return refreshes.get();
    }

    /**
     * Looks a map output up, refreshing the directory once if it is missing and no one has refreshed since {@code generation}.
     *
     * @return {@code null} when the peer does not list it even now
     */
    MapOutputDirectory.Entry find(long mapId, long generation) throws IOException, InterruptedException {
        MapOutputDirectory.Entry entry = directory.outputs().get(mapId);
        if (entry == null && !absent.contains(mapId)) {
            synchronized (this) {
                if (refreshes.get() == generation) {
                    directory = peer.fetchDirectory(shuffleId);
                    refreshes.incrementAndGet();
                }
            }
            entry = directory.outputs().get(mapId);
            if (entry == null) {
                absent.add(mapId);
            }
        }
        return entry;
    }

    /** Looks a map output up without asking the peer. */
    MapOutputDirectory.Entry known(long mapId) {
        return directory.outputs().get(mapId);
    }

    /**
     * Whether this way leads to all runs of a map output, or may lead to its file. Asks for the peer's new segments if one is unknown, once per segment.
     */
    boolean reaches(MapOutputDirectory.Entry entry) throws InterruptedException {
        if (entry.served()) {
            return entry.pinnable() && !inPlace();
        }
        for (RunLocation run : entry.runs()) {
            if (!memory.knows(run.rkey()) && !learn(run.rkey())) {
                return false;
            }
        }
        return true;
    }

    private synchronized boolean learn(int rkey) throws InterruptedException {
        if (memory.knows(rkey)) {
            return true;
        }
        if (!outOfReach.contains(rkey)) {
            try {
                peer.refreshMemory(memory);
                if (memory.knows(rkey)) {
                    return true;
                }
                outOfReach.add(rkey);
            } catch (IOException e) {
                peer.warnOnce(
                        "SEGMENTS", "does not tell its new segments; blocks in them are fetched: " + e.getMessage());
            }
        }
        return false;
    }

    /**
     * Opens the runs of a map output that the directory lists in memory, as views for the calling thread.
     *
     * @throws IOException if a range is not readable or a run image is not what it should be
     */
    List<RunImage> open(long mapId, MapOutputDirectory.Entry entry, int partitions) throws IOException {
        List<RunImage> opened = images.get(mapId);
        if (opened == null) {
            opened = new ArrayList<>(entry.runs().size());
            for (RunLocation run : entry.runs()) {
                opened.add(RunImage.open(
                        memory.viewBuffer(run.address(), run.rkey(), Math.toIntExact(run.length())),
                        mapId,
                        partitions));
            }
            images.put(mapId, opened);
        }
        List<RunImage> views = new ArrayList<>(opened.size());
        for (RunImage image : opened) {
            views.add(image.view());
        }
        return views;
    }

    /** Reads under a {@link #hold} that the caller has taken and whose end the listener tells. */
    void read(ReadRequest request) {
        memory.read(request);
    }

    /** Told of a failed read; if it took the connection with it, the peer gives that up. */
    void readFailed(TransportException cause) {
        if (!memory.isAlive()) {
            peer.broken(memory, cause);
        }
    }

    /** See {@link Peer#warnOnce}. */
    void warnOnce(String reason, String message) {
        peer.warnOnce(reason, message);
    }

    /**
     * Fetches segment table and directory again, in the background, because the peer refused a range. Callers that come while
     * that is under way share it.
     *
     * @return completes when it is done, exceptionally if it failed
     */
    synchronized CompletableFuture<Void> refreshAfterRefusal() {
        if (refreshing == null || refreshing.isDone()) {
            CompletableFuture<Void> result = new CompletableFuture<>();
            refreshing = result;
            resources.inBackground(() -> refreshAll(result));
        }
        return refreshing;
    }

    private void refreshAll(CompletableFuture<Void> result) {
        try {
            peer.refreshMemory(memory);
            directory = peer.fetchDirectory(shuffleId);
            refreshes.incrementAndGet();
            result.complete(null);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            result.completeExceptionally(e);
        } catch (IOException | RuntimeException e) {
            result.completeExceptionally(e);
        }
    }

    /**
     * Keeps the lease until {@link #endHold}, for one read.
     *
     * @return false if the lease has ended already
     */
    boolean hold() {
        return holds.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
    }

    void endHold() {
        if (holds.decrementAndGet() == 0) {
            lease.close();
        }
    }

    /** Called once; the lease ends with the last read under way. */
    void close() {
        endHold();
    }
}
