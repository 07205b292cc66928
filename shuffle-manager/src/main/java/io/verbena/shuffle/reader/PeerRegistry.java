package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.Transport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.spark.storage.BlockManagerId;

/**
 * The executors this one reads from, and what it knows of their shuffles; shared by all reduce tasks, so a shuffle's directory is
 * fetched once per pair of executors.
 *
 * <p>Lifetime: {@link #acquire} counts a user of (peer, shuffle) up, {@link #release} down. An unused one keeps its lease for a
 * short while, for the next task, and is closed by {@link #closeIdle} or {@link #forget}. Peers stay connected a while longer:
 * their mappings are valid even after they die.
 *
 * <p>Threads: any. {@code lock} guards the table and is never held across a wait.
 */
public final class PeerRegistry implements AutoCloseable {
    /** A connection costs a round trip and a mapping, so it outlives the leases on single shuffles by this much. */
    private static final long PEER_IDLE_FACTOR = 15;

    private final Transport transport;
    private final BlockClient client;
    private final ShuffleCounters counters;
    private final Executor background;
    private final long timeoutMs;
    private final Object lock = new Object();

    @GuardedBy("lock")
    private final Map<BlockManagerId, Peer> peers = new HashMap<>();

    @GuardedBy("lock")
    private final Map<Key, Use> uses = new HashMap<>();

    private record Key(BlockManagerId peer, int shuffleId) {}

    /** One (peer, shuffle) in use or lately used. */
    static final class Use {
        private final Key key;
        private final CompletableFuture<PeerShuffle> shuffle;
        private int users = 1;
        private long idleSinceNs;

        private Use(Key key, CompletableFuture<PeerShuffle> shuffle) {
            this.key = key;
            this.shuffle = shuffle;
        }

        /** Completes with {@code null} when the peer is read over the network. */
        CompletableFuture<PeerShuffle> shuffle() {
            return shuffle;
        }
    }

    /** Creates an empty registry; connecting and fetching directories happens on {@code background}. */
    public PeerRegistry(
            Transport transport, BlockClient client, ShuffleCounters counters, Executor background, long timeoutMs) {
        this.transport = transport;
        this.client = client;
        this.counters = counters;
        this.background = background;
        this.timeoutMs = timeoutMs;
    }

    Use acquire(BlockManagerId id, int shuffleId) {
        Use use;
        Peer peer;
        synchronized (lock) {
            Key key = new Key(id, shuffleId);
            Use known = uses.get(key);
            if (known != null && !known.shuffle.isCompletedExceptionally()) {
                known.users++;
                return known;
            }
            use = new Use(key, new CompletableFuture<>());
            uses.put(key, use);
            peer = peers.computeIfAbsent(id, i -> new Peer(i, transport, client, counters, timeoutMs));
            peer.touch();
        }
        // Outside the lock: an executor may run it at once on this thread, and it waits for the peer.
        background.execute(() -> open(peer, shuffleId, use.shuffle));
        return use;
    }

    private static void open(Peer peer, int shuffleId, CompletableFuture<PeerShuffle> result) {
        try {
            result.complete(peer.openShuffle(shuffleId));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            result.completeExceptionally(e);
        } catch (IOException | RuntimeException | Error e) {
            result.completeExceptionally(e);
        }
    }

    void release(Use use) {
        synchronized (lock) {
            use.users--;
            use.idleSinceNs = System.nanoTime();
        }
    }

    /**
     * Ends leases that no task has used for that long, and gives up the memory of neighbours that no shuffle is read from:
     * mappings keep memory alive that its owner has freed. Called from time to time in the background.
     */
    public void closeIdle(long idleNs) {
        closeAll(take(use -> System.nanoTime() - use.idleSinceNs >= idleNs));
        List<Peer> unused = new ArrayList<>();
        synchronized (lock) {
            for (Iterator<Map.Entry<BlockManagerId, Peer>> all =
                            peers.entrySet().iterator();
                    all.hasNext(); ) {
                Map.Entry<BlockManagerId, Peer> peer = all.next();
                if (uses.keySet().stream().noneMatch(key -> key.peer.equals(peer.getKey()))
                        && peer.getValue().isIdle(PEER_IDLE_FACTOR * idleNs)) {
                    all.remove();
                    unused.add(peer.getValue());
                }
            }
        }
        unused.forEach(Peer::close);
    }

    /** True when a task reads from a neighbour's memory now. */
    public boolean isInUse() {
        synchronized (lock) {
            return uses.values().stream().anyMatch(use -> use.users > 0);
        }
    }

    /** Ends unused leases on a shuffle that Spark has removed. */
    public void forget(int shuffleId) {
        closeAll(take(use -> use.key.shuffleId == shuffleId));
    }

    private List<Use> take(java.util.function.Predicate<Use> condition) {
        List<Use> taken = new ArrayList<>();
        synchronized (lock) {
            for (Iterator<Use> all = uses.values().iterator(); all.hasNext(); ) {
                Use use = all.next();
                if (use.users == 0 && use.shuffle.isDone() && condition.test(use)) {
                    all.remove();
                    taken.add(use);
                }
            }
        }
        return taken;
    }

    private static void closeAll(List<Use> taken) {
        for (Use use : taken) {
            PeerShuffle shuffle = use.shuffle.isCompletedExceptionally() ? null : use.shuffle.getNow(null);
            if (shuffle != null) {
                shuffle.close();
            }
        }
    }

    /** Number of (peer, shuffle) pairs with a lease or one under way. */
    public int size() {
        synchronized (lock) {
            return uses.size();
        }
    }

    /** Closes everything; no reader runs any more. */
    @Override
    public void close() {
        List<Use> all;
        List<Peer> connected;
        synchronized (lock) {
            all = new ArrayList<>(uses.values());
            uses.clear();
            connected = new ArrayList<>(peers.values());
            peers.clear();
        }
        closeAll(all);
        connected.forEach(Peer::close);
    }
}
