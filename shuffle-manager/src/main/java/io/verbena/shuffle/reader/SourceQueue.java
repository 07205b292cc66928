package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metrics.CounterSink;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sources of one reduce task, handed out as they can be had: own memory, neighbours' memory, then what comes by direct read or
 * over Spark's block transfer, which was asked for before the first was handed out.
 *
 * <p>Errors: a map output in a peer's memory that cannot be read is fetched once more over Spark's block transfer; every other
 * failure becomes a FetchFailedException with the map output's true location, map id and index, thrown on the task's thread.
 *
 * <p>Threads: confined to the reduce task, or to a thread that it feeds a pipe with. {@link #close} ends all leases and is called when
 * the task ends, however it ends; by the task's thread, even if another one still reads.
 */
final class SourceQueue {
    private static final Logger LOG = LoggerFactory.getLogger(SourceQueue.class);

    private final ReaderResources resources;
    private final ReadTask task;
    private final Bell bell = new Bell();
    private final SelfWay self;
    private final NettyWay netty;
    private final MappedWay mapped;
    private final RdmaWay rdma;
    private final Set<PendingPeer> pending = new LinkedHashSet<>();

    /** Those of which the outcome has come; filled by whoever brings it. */
    private final Queue<PendingPeer> answered = new ConcurrentLinkedQueue<>();

    private final List<PeerRegistry.Use> uses = new ArrayList<>();
    private final Set<BlockSource> open = ConcurrentHashMap.newKeySet();
    private long startedNs;
    private volatile boolean exhausted;
    private volatile boolean closed;

    /** A peer that is being asked; each is equal to itself only. */
    private static final class PendingPeer {
        final PeerRegistry.Use use;
        final List<MapRef> refs;

        PendingPeer(PeerRegistry.Use use, List<MapRef> refs) {
            this.use = use;
            this.refs = refs;
        }
    }

    /** Creates an empty queue; {@link #start} fills it, once {@link #close} is sure to be called. */
    SourceQueue(
            ReaderResources resources,
            int shuffleId,
            int partitions,
            ShuffleReadMetricsReporter metrics,
            CounterSink counters) {
        this.resources = resources;
        this.task = new ReadTask(resources, shuffleId, partitions, metrics, counters);
        this.self = new SelfWay(task);
        this.netty = new NettyWay(task, bell);
        this.mapped = new MappedWay(task, netty);
        this.rdma = new RdmaWay(task, netty, bell);
    }

    /** Takes leases and asks peers; does not wait for them. */
    void start(FetchPlan plan) {
        startedNs = System.nanoTime();
        for (Map.Entry<BlockManagerId, List<MapRef>> location :
                plan.byLocation().entrySet()) {
            if (location.getKey().executorId().equals(resources.executorId())) {
                self.add(location.getValue());
            } else if (resources.peers() == null) {
                netty.add(location.getValue());
            } else {
                PeerRegistry.Use use = resources.peers().acquire(location.getKey(), task.shuffleId());
                uses.add(use);
                PendingPeer peer = new PendingPeer(use, location.getValue());
                pending.add(peer);
                CompletableFuture<PeerShuffle> unused = use.shuffle().whenComplete((shuffle, e) -> {
                    answered.add(peer);
                    bell.ring();
                });
            }
        }
    }

    /** Returns the next source, {@code null} after the last. */
    BlockSource next() {
        try {
            while (true) {
                requireOpen();
                resolveFinishedPeers();
                BlockSource source = poll();
                if (source != null) {
                    return opened(source);
                }
                if (pending.isEmpty() && rdma.isDone() && netty.isDone()) {
                    exhausted = true;
                    self.report();
                    mapped.report();
                    return null;
                }
                awaitAny();
            }
        } catch (InterruptedException e) {
            throw ReadTask.raise(e);
        }
    }

    /** If the task has ended meanwhile, one of the two threads sees the source and closes it. */
    private BlockSource opened(BlockSource source) {
        open.add(source);
        if (closed) {
            end(source);
            requireOpen();
        }
        return source;
    }

    private void end(BlockSource source) {
        if (open.remove(source)) {
            source.close();
        }
    }

    private BlockSource poll() {
        BlockSource source = self.poll();
        source = source != null ? source : mapped.poll();
        source = source != null ? source : rdma.poll();
        return source != null ? source : netty.poll();
    }

    /** Waits until something has come; gives up on what has not come for too long. */
    private void awaitAny() throws InterruptedException {
        long began = System.nanoTime();
        boolean rang = bell.await(pending.isEmpty() ? resources.fetchTimeoutMs() : leftMs());
        task.waited(began);
        if (rang) {
            return;
        }
        if (!pending.isEmpty()) {
            PendingPeer late = pending.iterator().next();
            pending.remove(late);
            resolve(late);
        } else if (!rdma.isDone()) {
            rdma.timedOut();
        } else {
            throw netty.timedOut();
        }
    }

    /** Returns the source's next slice; after the last one closes it and returns {@code null}. */
    Slice nextSlice(BlockSource source) {
        requireOpen();
        try {
            Slice slice = source.next();
            if (slice == null) {
                end(source);
            } else if (slice.large() != null) {
                InputStream guarded = new GuardedStream(slice.large(), source.ref());
                return new Slice(null, 0, slice.length(), slice.reduceId(), guarded);
            }
            return slice;
        } catch (IOException e) {
            throw task.fail(source.ref(), e);
        }
    }

    /** A thread that outlives its task (the feeder of a pipe, say) must not read memory whose lease has ended. */
    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("shuffle " + task.shuffleId() + " is read after the end of its task");
        }
    }

    /** A large slice is read while it is decoded; that its file cannot be read is a failed fetch all the same. */
    private final class GuardedStream extends FilterInputStream {
        private final MapRef ref;

        GuardedStream(InputStream in, MapRef ref) {
            super(in);
            this.ref = ref;
        }

        @Override
        public int read() {
            try {
                return super.read();
            } catch (IOException e) {
                throw task.fail(ref, e);
            }
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            try {
                return super.read(target, offset, length);
            } catch (IOException e) {
                throw task.fail(ref, e);
            }
        }
    }

    private void resolveFinishedPeers() throws InterruptedException {
        for (PendingPeer peer = answered.poll(); peer != null; peer = answered.poll()) {
            if (pending.remove(peer)) {
                resolve(peer);
            }
        }
    }

    /** Sorts a peer's map outputs by the way they will be read. */
    private void resolve(PendingPeer peer) throws InterruptedException {
        MapRef first = peer.refs.get(0);
        List<MapRef> overNetwork = new ArrayList<>();
        List<WantedOutput> byRead = new ArrayList<>();
        PeerShuffle shuffle;
        try {
            shuffle = await(peer);
            if (shuffle == null) {
                overNetwork.addAll(peer.refs);
            } else {
                long generation = shuffle.generation();
                for (MapRef ref : peer.refs) {
                    MapOutputDirectory.Entry entry = shuffle.find(ref.mapId(), generation);
                    if (entry == null || !shuffle.reaches(entry)) {
                        overNetwork.add(ref);
                    } else if (shuffle.inPlace()) {
                        mapped.add(ref, shuffle, entry);
                    } else {
                        byRead.add(new WantedOutput(ref, shuffle, entry, null, false));
                    }
                }
            }
        } catch (IOException e) {
            throw task.fail(first, e);
        }
        if (!overNetwork.isEmpty()) {
            netty.add(overNetwork);
        }
        if (!byRead.isEmpty()) {
            rdma.add(shuffle, byRead);
        }
    }

    private PeerShuffle await(PendingPeer peer) throws IOException, InterruptedException {
        long began = System.nanoTime();
        try {
            return peer.use.shuffle().get(leftMs(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            // Not a lost block: a fault of this executor fails the task, not the map output.
            throw ReadTask.raise(e.getCause());
        } catch (TimeoutException e) {
            throw new IOException(
                    BlockClient.name(peer.refs.get(0).location()) + " did not answer within "
                            + resources.fetchTimeoutMs()
                            + " ms; if the peer is only slow, raise spark.shuffle.rdma.fetch.timeout",
                    e);
        } finally {
            task.waited(began);
        }
    }

    /** What is left of the time in which peers must have answered, counted from the start of the task's reading. */
    private long leftMs() {
        return Math.max(1, resources.fetchTimeoutMs() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs));
    }

    /** Ends everything this task holds; once, whatever has been read. */
    void close() {
        if (closed) {
            return;
        }
        closed = true;
        // Whoever waits finds it closed.
        bell.ring();
        Deque<Runnable> steps = new ArrayDeque<>(List.of(self::report, mapped::report));
        if (!exhausted) {
            steps.add(rdma::endEarly);
        }
        open.forEach(source -> steps.add(() -> end(source)));
        steps.add(rdma::close);
        steps.add(netty::close);
        uses.forEach(use -> steps.add(() -> resources.peers().release(use)));
        steps.add(self::close);
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException e) {
                LOG.warn("cannot end a part of reading shuffle {}: {}", task.shuffleId(), e.toString(), e);
            }
        }
    }
}
