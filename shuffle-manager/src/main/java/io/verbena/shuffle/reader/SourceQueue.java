package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.transport.ReadLease;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.BlockManagerId;
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
    private final Set<BlockSource> open = new LinkedHashSet<>();
    private ReadLease selfLease;
    private boolean closed;

    private record PendingPeer(PeerRegistry.Use use, List<MapRef> refs) {}

    private record InPlace(MapRef ref, PeerShuffle shuffle, MapOutputDirectory.Entry entry) {}

    SourceQueue(
            ReaderResources resources,
            int shuffleId,
            int partitions,
            FetchPlan plan,
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
        for (Map.Entry<BlockManagerId, List<MapRef>> location :
                plan.byLocation().entrySet()) {
            if (location.getKey().executorId().equals(resources.executorId())) {
                self.addAll(location.getValue());
            } else if (resources.peers() == null) {
                fetcher.add(location.getValue());
            } else {
                PeerRegistry.Use use = resources.peers().acquire(location.getKey(), shuffleId);
                uses.add(use);
                pending.add(new PendingPeer(use, location.getValue()));
            }
        }
        if (!self.isEmpty()) {
            selfLease = resources.store().lease(shuffleId);
        }
        fetcher.send();
    }

    /** Returns the next source, {@code null} after the last. */
    BlockSource next() {
        try {
            while (true) {
                resolveFinishedPeers();
                BlockSource source;
                if (!self.isEmpty()) {
                    source = openSelf(self.poll());
                } else if (!mapped.isEmpty()) {
                    source = openInPlace(mapped.poll());
                } else if (!pending.isEmpty()) {
                    resolve(pending.poll());
                    continue;
                } else if (fetcher.isDone()) {
                    return null;
                } else {
                    source = openAnswer();
                }
                if (source != null) {
                    open.add(source);
                    return source;
                }
            }
        } catch (InterruptedException e) {
            throw Sneaky.raise(e);
        }
    }

    /** Returns the source's next slice; after the last one closes it and returns {@code null}. */
    Slice nextSlice(BlockSource source) {
        try {
            Slice slice = source.next();
            if (slice == null) {
                source.close();
                open.remove(source);
            }
            return slice;
        } catch (IOException e) {
            throw fail(source.ref(), e);
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
            // The parts of opening a peer have this deadline each; together they are three.
            return peer.use().shuffle().get(3 * resources.fetchTimeoutMs(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() instanceof CompletionException wrapped ? wrapped.getCause() : e.getCause();
            throw cause instanceof IOException io ? io : new IOException(cause);
        } catch (TimeoutException e) {
            throw new IOException(
                    BlockClient.name(peer.refs().get(0).location()) + " did not answer within "
                            + 3 * resources.fetchTimeoutMs() + " ms",
                    e);
        } finally {
            waited(began);
        }
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

    private BlockSource openAnswer() throws InterruptedException {
        long began = System.nanoTime();
        FrameFetcher.Answer answer = fetcher.take(resources.fetchTimeoutMs());
        waited(began);
        if (answer == null) {
            MapRef ref = fetcher.anyUnanswered();
            throw fail(
                    ref,
                    new IOException("no block came from " + BlockClient.name(ref.location())
                            + " or any other peer within " + resources.fetchTimeoutMs()
                            + " ms; if peers are only slow, raise spark.shuffle.rdma.fetch.timeout"));
        }
        if (answer.failure() != null) {
            throw fail(answer.ref(), answer.failure());
        }
        try {
            FrameSource source = new FrameSource(answer.ref(), answer.buffer());
            metrics.incRemoteBlocksFetched(1);
            metrics.incRemoteBytesRead(source.bytes());
            counters.add(ShuffleCounter.READ_NETTY_BYTES, source.bytes());
            return source;
        } catch (IOException e) {
            answer.buffer().release();
            throw fail(answer.ref(), e);
        }
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
        return Sneaky.raise(new FetchFailedException(
                ref.location(), shuffleId, ref.mapId(), ref.mapIndex(), ref.startReduceId(), message, cause));
    }

    /** Ends everything this task holds; once, whatever has been read. */
    void close() {
        if (closed) {
            return;
        }
        closed = true;
        open.forEach(BlockSource::close);
        open.clear();
        fetcher.close();
        uses.forEach(use -> resources.peers().release(use));
        if (selfLease != null) {
            selfLease.close();
        }
    }
}
