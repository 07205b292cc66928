package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.transport.ReadLease;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.unsafe.Platform;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sources of one reduce task, handed out as they can be had: own memory, neighbours' memory, then what comes over Spark's
 * block transfer, which was asked for before the first was handed out.
 *
 * <p>Errors: a map output in a neighbour's memory that cannot be read is fetched once more over Spark's block transfer; every
 * other failure becomes a FetchFailedException with the map output's true location, map id and index, thrown on the task's thread.
 *
 * <p>Threads: confined to the reduce task. {@link #close} ends all leases and is called when the task ends, however it ends.
 */
final class SourceQueue {
    private static final Logger LOG = LoggerFactory.getLogger(SourceQueue.class);

    /** How long to wait for an answer before looking whether a peer has become readable in place. */
    private static final long PEER_POLL_MS = 20;

    private final ReaderResources resources;
    private final int shuffleId;
    private final int partitions;
    private final ShuffleReadMetricsReporter metrics;
    private final CounterSink counters;
    private final FrameFetcher fetcher;
    private final Deque<MapRef> self = new ArrayDeque<>();
    private final Deque<PendingPeer> pending = new ArrayDeque<>();
    private final Deque<InPlace> mapped = new ArrayDeque<>();
    private final List<PeerRegistry.Use> uses = new ArrayList<>();
    private final Set<BlockSource> open = ConcurrentHashMap.newKeySet();
    private final Set<MapRef> askedAgain = new HashSet<>();
    private ReadLease selfLease;
    private long startedNs;
    private volatile boolean closed;

    private record PendingPeer(PeerRegistry.Use use, List<MapRef> refs) {}

    private record InPlace(MapRef ref, PeerShuffle shuffle, MapOutputDirectory.Entry entry) {}

    /** Creates an empty queue; {@link #start} fills it, once {@link #close} is sure to be called. */
    SourceQueue(
            ReaderResources resources,
            int shuffleId,
            int partitions,
            ShuffleReadMetricsReporter metrics,
            CounterSink counters) {
        this.resources = resources;
        this.shuffleId = shuffleId;
        this.partitions = partitions;
        this.metrics = metrics;
        this.counters = counters;
        this.fetcher = new FrameFetcher(
                resources.client(),
                shuffleId,
                resources.maxBytesInFlight(),
                resources.maxBytesToMemory(),
                resources.tempFiles());
    }

    /** Takes leases and asks peers; does not wait for them. */
    void start(FetchPlan plan) {
        startedNs = System.nanoTime();
        for (Map.Entry<BlockManagerId, List<MapRef>> location :
                plan.byLocation().entrySet()) {
            if (location.getKey().executorId().equals(resources.executorId())) {
                if (selfLease == null) {
                    selfLease = resources.store().lease(shuffleId);
                }
                self.addAll(location.getValue());
            } else if (resources.peers() == null) {
                fetcher.add(location.getValue());
            } else {
                PeerRegistry.Use use = resources.peers().acquire(location.getKey(), shuffleId);
                uses.add(use);
                pending.add(new PendingPeer(use, location.getValue()));
            }
        }
        fetcher.send();
    }

    /** Returns the next source, {@code null} after the last. */
    BlockSource next() {
        try {
            while (true) {
                requireOpen();
                resolveFinishedPeers();
                BlockSource source = null;
                if (!self.isEmpty()) {
                    source = openSelf(self.poll());
                } else if (!mapped.isEmpty()) {
                    source = openInPlace(mapped.poll());
                } else if (!fetcher.isDone()) {
                    source = openAnswer();
                } else if (!pending.isEmpty()) {
                    resolve(pending.poll());
                } else {
                    return null;
                }
                if (source != null) {
                    open.add(source);
                    return source;
                }
            }
        } catch (InterruptedException e) {
            throw raise(e);
        }
    }

    /** Returns the source's next slice; after the last one closes it and returns {@code null}. */
    Slice nextSlice(BlockSource source) {
        requireOpen();
        try {
            Slice slice = source.next();
            if (slice == null) {
                open.remove(source);
                source.close();
            } else if (slice.large() != null) {
                InputStream guarded = new GuardedStream(slice.large(), source.ref());
                return new Slice(null, 0, slice.length(), slice.reduceId(), guarded);
            }
            return slice;
        } catch (IOException e) {
            throw fail(source.ref(), e);
        }
    }

    /** A thread that outlives its task (the feeder of a pipe, say) must not read memory whose lease has ended. */
    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("shuffle " + shuffleId + " is read after the end of its task");
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
                throw fail(ref, e);
            }
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            try {
                return super.read(target, offset, length);
            } catch (IOException e) {
                throw fail(ref, e);
            }
        }
    }

    private void resolveFinishedPeers() throws InterruptedException {
        for (int i = pending.size(); i > 0; i--) {
            PendingPeer peer = pending.poll();
            if (peer.use().shuffle().isDone()) {
                resolve(peer);
            } else {
                pending.add(peer);
            }
        }
    }

    /** Sorts a peer's map outputs by the way they will be read. */
    private void resolve(PendingPeer peer) throws InterruptedException {
        MapRef first = peer.refs().get(0);
        List<MapRef> overNetwork = new ArrayList<>();
        try {
            PeerShuffle shuffle = await(peer);
            if (shuffle == null) {
                overNetwork.addAll(peer.refs());
            } else {
                long generation = shuffle.generation();
                for (MapRef ref : peer.refs()) {
                    MapOutputDirectory.Entry entry = shuffle.find(ref.mapId(), generation);
                    if (entry == null || entry.served()) {
                        overNetwork.add(ref);
                    } else {
                        mapped.add(new InPlace(ref, shuffle, entry));
                    }
                }
            }
        } catch (IOException e) {
            throw fail(first, e);
        }
        if (!overNetwork.isEmpty()) {
            fetcher.add(overNetwork);
            fetcher.send();
        }
    }

    private PeerShuffle await(PendingPeer peer) throws IOException, InterruptedException {
        long began = System.nanoTime();
        try {
            return peer.use().shuffle().get(leftMs(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException io) {
                throw io;
            }
            // Not a lost block: a fault of this executor fails the task, not the map output.
            throw raise(e.getCause());
        } catch (TimeoutException e) {
            throw new IOException(
                    BlockClient.name(peer.refs().get(0).location()) + " did not answer within "
                            + resources.fetchTimeoutMs()
                            + " ms; if the peer is only slow, raise spark.shuffle.rdma.fetch.timeout",
                    e);
        } finally {
            waited(began);
        }
    }

    /** What is left of the time in which peers must have answered, counted from the start of the task's reading. */
    private long leftMs() {
        return Math.max(1, resources.fetchTimeoutMs() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startedNs));
    }

    private void waited(long beganNs) {
        metrics.incFetchWaitTime(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNs));
    }

    private BlockSource openSelf(MapRef ref) {
        ManagedBuffer buffer = null;
        try {
            if (resources.store().get(shuffleId, ref.mapId()) instanceof MapOutput.InMemory memory) {
                RunSource source = new RunSource(ref, memory.open());
                local(source.bytes(), ShuffleCounter.READ_SELF_BYTES);
                return source;
            }
            buffer = resources.server().frame(shuffleId, ref.mapId(), ref.startReduceId(), ref.endReduceId());
            FrameSource source = new FrameSource(ref, buffer);
            local(source.bytes(), ShuffleCounter.READ_LOCAL_FILE_BYTES);
            return source;
        } catch (IOException e) {
            if (buffer != null) {
                buffer.release();
            }
            throw fail(ref, e);
        }
    }

    private BlockSource openInPlace(InPlace block) throws InterruptedException {
        try {
            RunSource source =
                    new RunSource(block.ref(), block.shuffle().open(block.ref().mapId(), block.entry(), partitions));
            local(source.bytes(), ShuffleCounter.READ_MAPPED_BYTES);
            return source;
        } catch (IOException e) {
            counters.add(ShuffleCounter.READ_RETRIES, 1);
            LOG.warn(
                    "map output in a neighbour's memory is fetched over the network instead: {}, shuffleId={}, mapId={}: {}",
                    BlockClient.name(block.ref().location()),
                    shuffleId,
                    block.ref().mapId(),
                    e.getMessage());
            fetcher.add(List.of(block.ref()));
            fetcher.send();
            return null;
        }
    }

    /** Waits for an answer, briefly while peers may still become readable in place; {@code null} if there is nothing yet. */
    private BlockSource openAnswer() throws InterruptedException {
        long began = System.nanoTime();
        FrameFetcher.Answer answer = fetcher.take(pending.isEmpty() ? resources.fetchTimeoutMs() : PEER_POLL_MS);
        waited(began);
        if (answer == null && !pending.isEmpty()) {
            if (System.nanoTime() - startedNs > TimeUnit.MILLISECONDS.toNanos(resources.fetchTimeoutMs())) {
                resolve(pending.poll());
            }
            return null;
        }
        if (answer == null) {
            MapRef ref = fetcher.anyUnanswered();
            throw fail(
                    ref,
                    new IOException("no block came from " + BlockClient.name(ref.location())
                            + " or any other peer within " + resources.fetchTimeoutMs()
                            + " ms; if peers are only slow, raise spark.shuffle.rdma.fetch.timeout"));
        }
        if (answer.failure() != null) {
            // Spark's transfer has retried what can be; a lack of direct memory here is not the peer's fault.
            if (answer.failure() instanceof OutOfMemoryError) {
                return again(answer.ref(), answer.failure());
            }
            throw fail(answer.ref(), answer.failure());
        }
        FrameSource source;
        try {
            source = new FrameSource(answer.ref(), answer.buffer());
        } catch (IOException e) {
            answer.buffer().release();
            return again(answer.ref(), e);
        }
        metrics.incRemoteBlocksFetched(1);
        metrics.incRemoteBytesRead(source.bytes());
        counters.add(ShuffleCounter.READ_NETTY_BYTES, source.bytes());
        return source;
    }

    /** Asks once more for a map output whose answer was of no use; fails at the second time. */
    private BlockSource again(MapRef ref, Throwable cause) {
        if (!askedAgain.add(ref)) {
            throw fail(ref, cause);
        }
        counters.add(ShuffleCounter.READ_RETRIES, 1);
        LOG.warn(
                "map output is fetched again: {}, shuffleId={}, mapId={}: {}",
                BlockClient.name(ref.location()),
                shuffleId,
                ref.mapId(),
                cause.toString());
        fetcher.add(List.of(ref));
        fetcher.send();
        return null;
    }

    private void local(long bytes, ShuffleCounter counter) {
        metrics.incLocalBlocksFetched(1);
        metrics.incLocalBytesRead(bytes);
        counters.add(counter, bytes);
    }

    /** The one place where a failure becomes Spark's: its constructor already marks the task as failed by a fetch. */
    private RuntimeException fail(MapRef ref, Throwable cause) {
        counters.add(ShuffleCounter.FETCH_FAILURES, 1);
        String message = "fetch of shuffle_" + shuffleId + "_" + ref.mapId() + "_" + ref.startReduceId() + " from "
                + BlockClient.name(ref.location()) + " failed: " + cause.getMessage();
        return raise(new FetchFailedException(
                ref.location(), shuffleId, ref.mapId(), ref.mapIndex(), ref.startReduceId(), message, cause));
    }

    /** Throws a checked exception that Scala's world expects; declared to return so that callers can write {@code throw}. */
    private static RuntimeException raise(Throwable e) {
        Platform.throwException(e);
        return new IllegalStateException(e);
    }

    /** Ends everything this task holds; once, whatever has been read. */
    void close() {
        if (closed) {
            return;
        }
        closed = true;
        Deque<Runnable> steps = new ArrayDeque<>();
        open.forEach(source -> steps.add(source::close));
        steps.add(fetcher::close);
        uses.forEach(use -> steps.add(() -> resources.peers().release(use)));
        if (selfLease != null) {
            steps.add(selfLease::close);
        }
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException e) {
                LOG.warn("cannot end a part of reading shuffle {}: {}", shuffleId, e.toString(), e);
            }
        }
        open.clear();
    }
}
