package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.RunBlocks;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.storage.BlockManagerId;

/**
 * Map outputs in peers' memory that is read by copying: first their indexes, if no task has read them yet, then the blocks, many to
 * a request. Every slice is verified before one of its records is handed out; records are decoded where the bytes arrived.
 *
 * <p>Errors: what cannot be read is fetched over Spark's block transfer. After a refusal the peer's tables are asked for once more
 * first.
 *
 * <p>Threads: the task's, or one that it feeds a pipe with, while the task's ends it; so guarded by this. What ends elsewhere comes
 * through {@link PendingOutcomes} or the reader's own queue.
 */
final class RdmaWay implements AutoCloseable {
    private final ReadTask task;
    private final NettyWay fallback;
    private final Bell bell;

    @GuardedBy("this")
    private final PendingOutcomes pending;

    @GuardedBy("this")
    private final Deque<Arrived> arrived = new ArrayDeque<>();

    /** To be fetched over Spark's block transfer, peer by peer. */
    @GuardedBy("this")
    private final Map<BlockManagerId, List<MapRef>> given = new LinkedHashMap<>();

    /** What is known of the indexes of each peer. */
    @GuardedBy("this")
    private final Map<PeerShuffle, PeerShuffle.Indexed> byPeer = new HashMap<>();

    @GuardedBy("this")
    private BatchReader reader;

    @GuardedBy("this")
    private boolean closed;

    /** One map output that has come; {@code batch} is {@code null} if it has no byte. */
    private record Arrived(WantedOutput output, List<? extends RunBlocks> runs, ReadBatch batch) {}

    /** @param fallback gets what cannot be read */
    RdmaWay(ReadTask task, NettyWay fallback, Bell bell) {
        this.task = task;
        this.fallback = fallback;
        this.bell = bell;
        this.pending = new PendingOutcomes(bell);
    }

    /**
     * Starts to read map outputs that the peer has in memory, or in files that it may make readable.
     *
     * @param outputs at least one, without indexes; of all the same partitions are wanted
     */
    synchronized void add(PeerShuffle shuffle, List<WantedOutput> outputs) {
        if (closed) {
            return;
        }
        if (reader == null) {
            reader = new BatchReader(shuffle.resources(), task.resources().maxBytesInFlight(), bell);
        }
        List<WantedOutput> wanted = new ArrayList<>(outputs.size());
        List<WantedOutput> files = new ArrayList<>();
        outputs.forEach(output -> (output.entry().pinnable() ? files : wanted).add(output));
        MapRef any = outputs.get(0).ref();
        IndexSpan span = IndexSpan.of(any.startReduceId(), any.endReduceId(), task.partitions());
        byPeer.computeIfAbsent(shuffle, s -> s.indexed(span));
        index(shuffle, wanted);
        pin(shuffle, files);
        send();
        giveAway();
    }

    @GuardedBy("this")
    private void index(PeerShuffle shuffle, List<WantedOutput> outputs) {
        Map<Long, MapOutputDirectory.Entry> unknown = new LinkedHashMap<>();
        List<WantedOutput> without = new ArrayList<>();
        RunIndexes indexes = indexes(shuffle);
        for (WantedOutput output : outputs) {
            long mapId = output.ref().mapId();
            if (output.entry().runs().isEmpty()) {
                arrived.add(new Arrived(output.with(List.of()), List.of(), null));
            } else if (indexes.get(mapId) != null) {
                plan(output.with(indexes.get(mapId)));
            } else {
                unknown.put(mapId, output.entry());
                without.add(output);
            }
        }
        Map<Long, RunIndexes.Load> loads = indexes.load(unknown);
        Map<RunIndexes.Load, List<WantedOutput>> byLoad = new LinkedHashMap<>();
        for (WantedOutput output : without) {
            RunIndexes.Load load = loads.get(output.ref().mapId());
            if (load == null) {
                // Another task has read it in between.
                plan(output.with(indexes.get(output.ref().mapId())));
            } else {
                byLoad.computeIfAbsent(load, l -> new ArrayList<>()).add(output);
            }
        }
        byLoad.forEach((load, some) -> pending.await(load.done(), some, (failures, e) -> indexed(some, failures)));
    }

    @GuardedBy("this")
    private RunIndexes indexes(PeerShuffle shuffle) {
        return byPeer.get(shuffle).runs();
    }

    @GuardedBy("this")
    private void pin(PeerShuffle shuffle, List<WantedOutput> files) {
        if (!files.isEmpty()) {
            List<Long> mapIds =
                    files.stream().map(output -> output.ref().mapId()).toList();
            pending.await(byPeer.get(shuffle).files().ask(mapIds), files, (nothing, e) -> pinned(files));
        }
    }

    private synchronized void pinned(List<WantedOutput> files) {
        for (WantedOutput output : files) {
            PinnedOutputs.Pinned file =
                    byPeer.get(output.shuffle()).files().get(output.ref().mapId());
            if (file == null) {
                // The peer has said why, and nothing was lost: it is fetched as all files are.
                giveTo(output.ref());
            } else {
                plan(output.in(file));
            }
        }
    }

    @GuardedBy("this")
    private void giveTo(MapRef ref) {
        given.computeIfAbsent(ref.location(), l -> new ArrayList<>()).add(ref);
    }

    private synchronized void indexed(List<WantedOutput> outputs, Map<Long, IOException> failures) {
        List<WantedOutput> refused = new ArrayList<>();
        for (WantedOutput output : outputs) {
            IOException failure = failures.get(output.ref().mapId());
            if (failure == null) {
                plan(output.with(indexes(output.shuffle()).get(output.ref().mapId())));
            } else {
                failed(output, failure, refused);
            }
        }
        retry(refused);
    }

    @GuardedBy("this")
    private void plan(WantedOutput output) {
        if (output.bytes() == 0) {
            arrived.add(new Arrived(output, List.of(), null));
        } else if (reader.fits(output)) {
            reader.add(output);
        } else {
            fallBack(
                    output,
                    "TOO_LARGE",
                    "lengthBytes=" + output.bytes() + " is more than spark.shuffle.rdma.fetch.maxBytesInFlight="
                            + task.resources().maxBytesInFlight());
        }
    }

    @GuardedBy("this")
    private void send() {
        for (List<WantedOutput> starved = reader.send(); !starved.isEmpty(); starved = reader.send()) {
            for (WantedOutput output : starved) {
                fallBack(output, new NoReadMemoryException(ReadBatch.bytes(output)));
            }
        }
    }

    /** Opens the next map output that has come; {@code null} if none has. */
    synchronized BlockSource poll() {
        if (reader == null || closed) {
            return null;
        }
        pending.handle();
        for (ReadBatch batch = reader.poll(); batch != null; batch = reader.poll()) {
            take(batch);
        }
        BlockSource source = null;
        while (source == null && !arrived.isEmpty()) {
            source = open(arrived.poll());
        }
        send();
        giveAway();
        return source;
    }

    @GuardedBy("this")
    private void take(ReadBatch batch) {
        TransportException failure = batch.failure();
        if (failure == null) {
            List<List<RunBlocks>> parts = batch.parts();
            for (int i = 0; i < parts.size(); i++) {
                arrived.add(new Arrived(batch.outputs().get(i), parts.get(i), batch));
            }
            return;
        }
        List<WantedOutput> refused = new ArrayList<>();
        batch.outputs().get(0).shuffle().readFailed(failure);
        for (WantedOutput output : batch.outputs()) {
            reader.finished(batch, null);
            failed(output, failure, refused);
        }
        retry(refused);
    }

    @GuardedBy("this")
    private BlockSource open(Arrived next) {
        WantedOutput output = next.output();
        try {
            RunSource source = new RunSource(output.ref(), next.runs(), layout -> finished(next.batch(), layout));
            task.remote(source.bytes(), ShuffleCounter.READ_RDMA_BYTES);
            return source;
        } catch (CorruptMetadataException e) {
            finished(next.batch(), null);
            fallBack(output, e);
            return null;
        }
    }

    private synchronized void finished(ReadBatch batch, BlockLayout layout) {
        if (batch != null) {
            reader.finished(batch, layout);
        }
    }

    /** Sorts a failed map output: to be asked for again, or to be had another way. */
    @GuardedBy("this")
    private void failed(WantedOutput output, IOException failure, List<WantedOutput> refused) {
        if (failure instanceof TransportException e && e.reason() == Reason.REMOTE_ACCESS && !output.retried()) {
            refused.add(output);
        } else {
            fallBack(output, failure);
        }
    }

    @GuardedBy("this")
    private void retry(List<WantedOutput> refused) {
        if (!refused.isEmpty()) {
            PeerShuffle shuffle = refused.get(0).shuffle();
            pending.await(shuffle.refreshAfterRefusal(), refused, (nothing, e) -> refreshed(shuffle, refused, e));
        }
    }

    private synchronized void refreshed(PeerShuffle shuffle, List<WantedOutput> refused, Throwable failure) {
        List<WantedOutput> again = new ArrayList<>();
        for (WantedOutput output : refused) {
            MapOutputDirectory.Entry entry = shuffle.known(output.ref().mapId());
            if (failure != null) {
                fallBack(output, "REMOTE_ACCESS", "refused, and its tables could not be had: " + failure.getMessage());
            } else if (entry == null || entry.served()) {
                fallBack(output, "REMOTE_ACCESS", "refused: it is not in the peer's memory any more");
            } else {
                again.add(output.again(entry));
            }
        }
        index(shuffle, again);
    }

    @GuardedBy("this")
    private void fallBack(WantedOutput output, IOException failure) {
        String reason = failure instanceof TransportException e
                ? e.reason().name()
                : failure.getClass().getSimpleName();
        fallBack(output, reason, failure.getMessage());
    }

    @GuardedBy("this")
    private void fallBack(WantedOutput output, String reason, String message) {
        task.counters().add(ShuffleCounter.READ_RETRIES, 1);
        output.shuffle()
                .warnOnce(
                        reason,
                        "does not give a map output by direct read, it is fetched over the network: shuffleId="
                                + task.shuffleId() + ", mapId=" + output.ref().mapId() + ": " + message);
        giveTo(output.ref());
    }

    @GuardedBy("this")
    private void giveAway() {
        given.values().forEach(fallback::add);
        given.clear();
    }

    /** True when nothing is wanted any more that has not been handed out. */
    synchronized boolean isDone() {
        return reader == null || (pending.isEmpty() && arrived.isEmpty() && reader.isIdle());
    }

    /** Has everything fetched another way that has not come, because nothing has come for too long. */
    synchronized void timedOut() {
        List<WantedOutput> late = new ArrayList<>(reader.abandon());
        late.addAll(pending.abandon());
        for (WantedOutput output : late) {
            fallBack(output, "TIMEOUT", "no answer within " + task.resources().fetchTimeoutMs() + " ms");
        }
        giveAway();
    }

    /** The task ends before all was read; called before its sources are closed. */
    synchronized void endEarly() {
        if (reader != null) {
            reader.endEarly();
        }
    }

    /** Gives back what has arrived and was not handed out. What is in flight is given back when it ends. */
    @Override
    public synchronized void close() {
        closed = true;
        if (reader != null) {
            for (Arrived next : arrived) {
                finished(next.batch(), null);
            }
            arrived.clear();
            reader.close();
        }
    }
}
