package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.RunIndex;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.TransportException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The same part of the index of every run that one shuffle's map outputs have in one peer's memory, each read once: whole and for
 * all reduce tasks of this executor, or the windows that one task needs, see {@link IndexSpan}.
 *
 * <p>Indexes are read in few requests, of which few are in flight. What could not be read is forgotten, so the next task tries
 * again.
 *
 * <p>Threads: any; what is under way is guarded by this. Memory is leased and indexes are checked in the background.
 */
final class RunIndexes {
    private static final long MAX_REQUEST_BYTES = 1 << 20;
    private static final int MAX_REQUEST_RUNS = 256;
    private static final int MAX_REQUESTS_IN_FLIGHT = 4;

    private final PeerShuffle shuffle;
    private final PeerResources resources;
    private final IndexSpan span;
    private final Map<Long, List<RunIndex>> known = new ConcurrentHashMap<>();

    @GuardedBy("this")
    private final Map<Long, Load> loading = new HashMap<>();

    @GuardedBy("this")
    private final Deque<Load> waiting = new ArrayDeque<>();

    @GuardedBy("this")
    private int inFlight;

    RunIndexes(PeerShuffle shuffle, PeerResources resources, IndexSpan span) {
        this.shuffle = shuffle;
        this.resources = resources;
        this.span = span;
    }

    /** The indexes of some map outputs, by one request. */
    static final class Load {
        private final Map<Long, MapOutputDirectory.Entry> entries = new LinkedHashMap<>();
        private final CompletableFuture<Map<Long, IOException>> done = new CompletableFuture<>();
        private int runs;

        /** Completes with the map outputs whose indexes could not be read, and why; the others are known then. */
        CompletableFuture<Map<Long, IOException>> done() {
            return done;
        }
    }

    /** Returns the indexes of a map output's runs, in their order; {@code null} if they have not been read. */
    List<RunIndex> get(long mapId) {
        return known.get(mapId);
    }

    /**
     * Starts to read indexes that are not known.
     *
     * @param wanted map outputs in the peer's memory
     * @return for each map output that is not known yet, what to wait for; several share one
     */
    Map<Long, Load> load(Map<Long, MapOutputDirectory.Entry> wanted) {
        Map<Long, Load> found = new HashMap<>();
        List<Load> start = new ArrayList<>();
        synchronized (this) {
            Load open = new Load();
            for (Map.Entry<Long, MapOutputDirectory.Entry> output : wanted.entrySet()) {
                long mapId = output.getKey();
                Load load = loading.get(mapId);
                if (load == null && known.containsKey(mapId)) {
                    continue;
                }
                if (load == null) {
                    int runs = output.getValue().runs().size();
                    if (!hasRoom(open, runs)) {
                        open = new Load();
                    }
                    load = open;
                    if (load.entries.isEmpty()) {
                        waiting.add(load);
                    }
                    load.entries.put(mapId, output.getValue());
                    load.runs += runs;
                    loading.put(mapId, load);
                }
                found.put(mapId, load);
            }
            takeNext(start);
        }
        start.forEach(this::start);
        return found;
    }

    private boolean hasRoom(Load load, int more) {
        int all = load.runs + more;
        return load.runs == 0 || (all <= MAX_REQUEST_RUNS && bytes(all) <= MAX_REQUEST_BYTES);
    }

    /** Memory that the index parts of so many runs take. */
    private long bytes(int runs) {
        return (long) runs * span.bytes();
    }

    @GuardedBy("this")
    private void takeNext(List<Load> start) {
        while (inFlight < MAX_REQUESTS_IN_FLIGHT && !waiting.isEmpty()) {
            inFlight++;
            start.add(waiting.poll());
        }
    }

    private void start(Load load) {
        resources.inBackground(() -> {
            RegisteredBuffer memory = null;
            try {
                memory = resources.arena().tryAcquire(Math.max(1, bytes(load.runs)));
                if (memory == null) {
                    throw new NoReadMemoryException(bytes(load.runs));
                }
                post(load, memory);
            } catch (IOException | RuntimeException e) {
                if (memory != null) {
                    memory.release();
                }
                finish(load, failAll(load, e));
            }
        });
    }

    /** Hands the memory over to the listener, unless it throws. */
    private void post(Load load, RegisteredBuffer memory) throws IOException {
        List<ReadRequest.Range> ranges = new ArrayList<>();
        for (MapOutputDirectory.Entry entry : load.entries.values()) {
            for (RunLocation run : entry.runs()) {
                // Not beyond the image: what is said to be shorter than its index is refused when it is checked.
                long length = Math.max(0, Math.min(span.bytes(), run.length() - span.offset()));
                ranges.add(
                        new ReadRequest.Range(run.address() + span.offset(), run.rkey(), length, bytes(ranges.size())));
            }
        }
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(resources.timeoutMs());
        ReadRequest request = new ReadRequest(memory, ranges, deadlineNs, new Listener(load, memory));
        if (!shuffle.hold()) {
            throw new TransportException(TransportException.Reason.CLOSED, "the lease on the shuffle has ended");
        }
        try {
            shuffle.read(request);
        } catch (RuntimeException e) {
            shuffle.endHold();
            throw e;
        }
    }

    /** On the progress thread: passes the work on. */
    private final class Listener implements ReadRequest.Listener {
        private final Load load;
        private final RegisteredBuffer memory;

        Listener(Load load, RegisteredBuffer memory) {
            this.load = load;
            this.memory = memory;
        }

        @Override
        public void onSuccess() {
            resources.inBackground(() -> end(null));
        }

        @Override
        public void onFailure(TransportException cause) {
            resources.inBackground(() -> end(cause));
        }

        private void end(TransportException failure) {
            Map<Long, IOException> failures;
            try {
                failures = failure == null ? copy(load, memory) : failAll(load, failure);
            } catch (RuntimeException e) {
                failures = failAll(load, e);
            }
            memory.release();
            shuffle.endHold();
            if (failure != null) {
                shuffle.readFailed(failure);
            }
            finish(load, failures);
        }
    }

    private Map<Long, IOException> copy(Load load, RegisteredBuffer memory) {
        Map<Long, IOException> failures = new HashMap<>();
        ByteBuffer windows = memory.buffer();
        int at = 0;
        for (Map.Entry<Long, MapOutputDirectory.Entry> output : load.entries.entrySet()) {
            List<RunIndex> indexes = new ArrayList<>();
            try {
                for (RunLocation run : output.getValue().runs()) {
                    indexes.add(RunIndex.copyOf(windows.slice(at, span.bytes()), output.getKey(), span, run.length()));
                    at += span.bytes();
                }
                known.put(output.getKey(), List.copyOf(indexes));
            } catch (CorruptMetadataException e) {
                failures.put(output.getKey(), e);
                at += (output.getValue().runs().size() - indexes.size()) * span.bytes();
            }
        }
        return failures;
    }

    private static Map<Long, IOException> failAll(Load load, Exception cause) {
        IOException failure = cause instanceof IOException io ? io : new IOException("index cannot be read", cause);
        Map<Long, IOException> failures = new HashMap<>();
        load.entries.keySet().forEach(mapId -> failures.put(mapId, failure));
        return failures;
    }

    private void finish(Load load, Map<Long, IOException> failures) {
        List<Load> start = new ArrayList<>();
        synchronized (this) {
            loading.keySet().removeAll(load.entries.keySet());
            inFlight--;
            takeNext(start);
        }
        start.forEach(this::start);
        load.done.complete(failures);
    }
}
