package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.ReservedBlocks;
import java.io.File;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.SimpleDownloadFile;
import org.apache.spark.network.util.TransportConf;

/**
 * Fetches blocks over Spark's block transfer, in frames. Bytes in flight are bounded by estimate, and one request is always
 * admitted. A map output that is expected to be large goes to a file, as Spark does it.
 *
 * <p>Threads: the task calls; answers arrive on transfer threads through {@code answers}.
 */
final class FrameFetcher {
    /** Spark bounds the blocks of one request too; with frames one id stands for a whole range. */
    private static final int MAX_BLOCKS_PER_REQUEST = 256;

    /** Of the bytes in flight, so that at least five peers send at the same time (Spark's ShuffleBlockFetcherIterator). */
    private static final int REQUESTS_IN_FLIGHT = 5;

    private final BlockClient client;
    private final int shuffleId;
    private final long maxBytesInFlight;
    private final long maxBytesToMemory;
    private final Supplier<File> tempFiles;
    private final Runnable onAnswer;
    private final Deque<Request> waiting = new ArrayDeque<>();
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();
    private final List<File> downloads = new ArrayList<>();
    private long bytesInFlight;
    private final java.util.Set<MapRef> unanswered = new java.util.LinkedHashSet<>();
    private volatile boolean closed;

    private record Request(List<MapRef> refs, long bytes) {}

    /** What came of one map output: a buffer (one reference is the taker's) or the cause of failure. */
    record Answer(MapRef ref, ManagedBuffer buffer, Throwable failure) {}

    /** @param onAnswer run on a transfer thread when there is an answer to {@link #poll} */
    FrameFetcher(
            BlockClient client,
            int shuffleId,
            long maxBytesInFlight,
            long maxBytesToMemory,
            Supplier<File> tempFiles,
            Runnable onAnswer) {
        this.client = client;
        this.shuffleId = shuffleId;
        this.maxBytesInFlight = maxBytesInFlight;
        this.maxBytesToMemory = maxBytesToMemory;
        this.tempFiles = tempFiles;
        this.onAnswer = onAnswer;
    }

    /** Adds map outputs of one peer; nothing is sent before {@link #send}. */
    void add(List<MapRef> refs) {
        List<MapRef> batch = new ArrayList<>();
        long bytes = 0;
        for (MapRef ref : refs) {
            if (ref.estimatedBytes() > maxBytesToMemory) {
                waiting.add(new Request(List.of(ref), ref.estimatedBytes()));
                continue;
            }
            batch.add(ref);
            bytes += ref.estimatedBytes();
            if (bytes >= maxBytesInFlight / REQUESTS_IN_FLIGHT || batch.size() == MAX_BLOCKS_PER_REQUEST) {
                waiting.add(new Request(List.copyOf(batch), bytes));
                batch.clear();
                bytes = 0;
            }
        }
        if (!batch.isEmpty()) {
            waiting.add(new Request(List.copyOf(batch), bytes));
        }
        unanswered.addAll(refs);
    }

    /** Sends as many requests as may be in flight. */
    void send() {
        while (!waiting.isEmpty()
                && (bytesInFlight == 0 || bytesInFlight + waiting.peek().bytes() <= maxBytesInFlight)) {
            Request request = waiting.poll();
            bytesInFlight += request.bytes();
            Map<String, MapRef> refs = new HashMap<>();
            String[] ids = new String[request.refs().size()];
            for (int i = 0; i < ids.length; i++) {
                MapRef ref = request.refs().get(i);
                ids[i] = ReservedBlocks.frame(shuffleId, ref.mapId(), ref.startReduceId(), ref.endReduceId());
                refs.put(ids[i], ref);
            }
            boolean toFile = request.bytes() > maxBytesToMemory;
            client.fetch(request.refs().get(0).location(), ids, new Listener(refs), toFile ? new Downloads() : null);
        }
    }

    boolean isDone() {
        return unanswered.isEmpty();
    }

    /** One of the map outputs still waited for, to name in an error; there is one unless {@link #isDone}. */
    MapRef anyUnanswered() {
        return unanswered.iterator().next();
    }

    /** Returns the next answer, {@code null} if none has come. */
    Answer poll() {
        Answer answer = answers.poll();
        if (answer != null) {
            unanswered.remove(answer.ref());
            bytesInFlight -= answer.ref().estimatedBytes();
            send();
        }
        return answer;
    }

    /** Releases what was not taken and deletes files; late answers are released as they come. */
    void close() {
        closed = true;
        drain();
        synchronized (downloads) {
            downloads.forEach(File::delete);
            downloads.clear();
        }
    }

    private void drain() {
        for (Answer answer = answers.poll(); answer != null; answer = answers.poll()) {
            if (answer.buffer() != null) {
                answer.buffer().release();
            }
        }
    }

    private final class Listener implements BlockFetchingListener {
        private final Map<String, MapRef> refs;

        Listener(Map<String, MapRef> refs) {
            this.refs = refs;
        }

        @Override
        public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
            offer(new Answer(refs.get(blockId), data.retain(), null));
        }

        @Override
        public void onBlockFetchFailure(String blockId, Throwable failure) {
            offer(new Answer(refs.get(blockId), null, failure));
        }

        private void offer(Answer answer) {
            answers.add(answer);
            onAnswer.run();
            // Closed between the two lines or before: whoever sees it last drains.
            if (closed) {
                drain();
            }
        }
    }

    private final class Downloads implements DownloadFileManager {
        @Override
        public DownloadFile createTempFile(TransportConf conf) {
            return new SimpleDownloadFile(tempFiles.get(), conf);
        }

        @Override
        public boolean registerTempFileToClean(DownloadFile file) {
            synchronized (downloads) {
                if (closed) {
                    return false;
                }
                downloads.add(new File(file.path()));
                return true;
            }
        }
    }
}
