package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.apache.spark.storage.BlockManagerId;

/**
 * The executors this one reads from, and what it knows of their shuffles; shared by all reduce tasks, so a shuffle's directory is
 * fetched once per pair of executors.
 *
 * <p>Lifetime: {@link #acquire} counts a user of (peer, shuffle) up, {@link #release} down. An unused one keeps its lease for a
 * short while, for the next task, and is closed by {@link #closeIdle} or {@link #forget}. One whose connection broke, or that was
 * not to be had, is replaced at the next acquire and closed by its last user. Peers stay connected a while longer: mappings are
 * valid even after they die.
 *
 * <p>Threads: any. {@code lock} guards the table and is never held across a wait.
 */
public final class PeerRegistry implements AutoCloseable {
    /** A connection costs a round trip and a mapping, so it outlives the leases on single shuffles by this much. */
    private static final long PEER_IDLE_FACTOR = 15;

    private final PeerResources resources;
    private final Object lock = new Object();

    @GuardedBy("lock")
    private final Map<BlockManagerId, Peer> peers = new HashMap<>();

    @GuardedBy("lock")
    private final Map<Key, Use> uses = new HashMap<>();

    /** No longer in the table, but with users. */
    @GuardedBy("lock")
    private final Set<Use> replaced = new HashSet<>();

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

    /** Creates an empty registry; connecting and fetching directories happens in the background. */
    public PeerRegistry(PeerResources resources) {
        this.resources = resources;
    }

    Use acquire(BlockManagerId id, int shuffleId) {
        Use use;
        Peer peer;
        Use unused = null;
        synchronized (lock) {
            Key key = new Key(id, shuffleId);
            peer = peers.computeIfAbsent(id, i -> new Peer(i, resources));
            Use known = uses.get(key);
            if (known != null && isGood(known, peer)) {
                known.users++;
                return known;
            }
            if (known != null && known.users > 0) {
                replaced.add(known);
            } else {
                unused = known;
            }
            use = new Use(key, new CompletableFuture<>());
            uses.put(key, use);
            peer.touch();
        }
        close(unused);
        // Outside the lock: an executor may run it at once on this thread, and it waits for the peer.
        resources.inBackground(() -> open(peer, shuffleId, use.shuffle));
        return use;
    }

    /** Whether the next task can share it: it is under way, alive, or a refusal that a new attempt could not change yet. */
    private static boolean isGood(Use use, Peer peer) {
        if (!use.shuffle.isDone()) {
            return true;
        }
        if (use.shuffle.isCompletedExceptionally()) {
            return false;
        }
        PeerShuffle shuffle = use.shuffle.getNow(null);
        return shuffle == null ? !peer.mayConnect() : shuffle.isUsable();
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
        boolean last;
        synchronized (lock) {
            use.users--;
            use.idleSinceNs = System.nanoTime();
            last = use.users == 0 && replaced.remove(use);
        }
        if (last) {
            close(use);
        }
    }

    /**
     * Ends leases that no task has used for that long, and gives up the memory of neighbours that no shuffle is read from:
     * mappings keep memory alive that its owner has freed. Called from time to time in the background.
     */
    public void closeIdle(long idleNs) {
        take(use -> System.nanoTime() - use.idleSinceNs >= idleNs).forEach(PeerRegistry::close);
        List<Peer> unused = new ArrayList<>();
        synchronized (lock) {
            Set<BlockManagerId> used = new HashSet<>();
            uses.keySet().forEach(key -> used.add(key.peer));
            for (Iterator<Map.Entry<BlockManagerId, Peer>> all =
                            peers.entrySet().iterator();
                    all.hasNext(); ) {
                Map.Entry<BlockManagerId, Peer> peer = all.next();
                if (!used.contains(peer.getKey()) && peer.getValue().isIdle(PEER_IDLE_FACTOR * idleNs)) {
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
            return !replaced.isEmpty() || uses.values().stream().anyMatch(use -> use.users > 0);
        }
    }

    /** Ends unused leases on a shuffle that Spark has removed. */
    public void forget(int shuffleId) {
        take(use -> use.key.shuffleId == shuffleId).forEach(PeerRegistry::close);
    }

    private List<Use> take(Predicate<Use> condition) {
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

    private static void close(Use use) {
        PeerShuffle shuffle = use == null || use.shuffle.isCompletedExceptionally() ? null : use.shuffle.getNow(null);
        if (shuffle != null) {
            shuffle.close();
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
            all.addAll(replaced);
            replaced.clear();
            connected = new ArrayList<>(peers.values());
            peers.clear();
        }
        all.forEach(PeerRegistry::close);
        connected.forEach(Peer::close);
    }
}
