package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.Transport;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import org.apache.spark.storage.BlockManagerId;

/**
 * The executors this one reads from, and what it knows of their shuffles; shared by all reduce tasks, so a shuffle's directory is
 * fetched once per pair of executors.
 *
 * <p>Lifetime: {@link #acquire} counts a user of (peer, shuffle) up, {@link #release} down. An unused one keeps its lease for a
 * short while, for the next task, and is closed by {@link #closeIdle} or {@link #forget}. Peers stay connected until
 * {@link #close}: their mappings are valid even after they die.
 *
 * <p>Threads: any. {@code lock} guards the table and is never held across a wait.
 */
public final class PeerRegistry implements AutoCloseable {
    private final Transport transport;
    private final BlockClient client;
    private final ShuffleCounters counters;
    private final ExecutorService background;
    private final long timeoutMs;
    private final Map<BlockManagerId, Peer> peers = new ConcurrentHashMap<>();
    private final Object lock = new Object();

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
            Transport transport,
            BlockClient client,
            ShuffleCounters counters,
            ExecutorService background,
            long timeoutMs) {
        this.transport = transport;
        this.client = client;
        this.counters = counters;
        this.background = background;
        this.timeoutMs = timeoutMs;
    }

    Use acquire(BlockManagerId id, int shuffleId) {
        synchronized (lock) {
            Key key = new Key(id, shuffleId);
            Use use = uses.get(key);
            if (use != null && !use.shuffle.isCompletedExceptionally()) {
                use.users++;
                return use;
            }
            Peer peer = peers.computeIfAbsent(id, i -> new Peer(i, transport, client, counters, timeoutMs));
            use = new Use(key, CompletableFuture.supplyAsync(() -> open(peer, shuffleId), background));
            uses.put(key, use);
            return use;
        }
    }

    private static PeerShuffle open(Peer peer, int shuffleId) {
        try {
            return peer.openShuffle(shuffleId);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CompletionException(e);
        } catch (java.io.IOException e) {
            throw new CompletionException(e);
        }
    }

    void release(Use use) {
        synchronized (lock) {
            use.users--;
            use.idleSinceNs = System.nanoTime();
        }
    }

    /** Ends leases that no task has used for that long; called from time to time in the background. */
    public void closeIdle(long idleNs) {
        closeAll(take(use -> System.nanoTime() - use.idleSinceNs >= idleNs));
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
        synchronized (lock) {
            all = new ArrayList<>(uses.values());
            uses.clear();
        }
        closeAll(all);
        peers.values().forEach(Peer::close);
        peers.clear();
    }
}
