package io.verbena.shuffle.reader;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Map outputs that come over Spark's block transfer. An answer that is of no use is asked for once more; after that, and whenever
 * Spark's transfer gives up, the fetch fails. Threads: confined to the task.
 */
final class NettyWay implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NettyWay.class);

    private final ReadTask task;
    private final FrameFetcher fetcher;
    private final Set<MapRef> askedAgain = new HashSet<>();

    NettyWay(ReadTask task, Bell bell) {
        this.task = task;
        ReaderResources resources = task.resources();
        this.fetcher = new FrameFetcher(
                resources.client(),
                task.shuffleId(),
                resources.maxBytesInFlight(),
                resources.maxBytesToMemory(),
                resources.tempFiles(),
                bell::ring);
    }

    /** Asks for map outputs of one peer, as soon as bytes in flight allow. */
    void add(List<MapRef> refs) {
        fetcher.add(refs);
        fetcher.send();
    }

    /** Opens the next answer; {@code null} if none has come. Throws Spark's exception if a fetch has failed. */
    BlockSource poll() {
        BlockSource source = null;
        FrameFetcher.Answer answer = fetcher.poll();
        while (answer != null && source == null) {
            source = open(answer);
            if (source == null) {
                answer = fetcher.poll();
            }
        }
        return source;
    }

    boolean isDone() {
        return fetcher.isDone();
    }

    /** Fails the task because nothing has come for too long. */
    RuntimeException timedOut() {
        MapRef ref = fetcher.anyUnanswered();
        return task.fail(
                ref,
                new IOException("no block came from " + BlockClient.name(ref.location()) + " or any other peer within "
                        + task.resources().fetchTimeoutMs()
                        + " ms; if peers are only slow, raise spark.shuffle.rdma.fetch.timeout"));
    }

    private BlockSource open(FrameFetcher.Answer answer) {
        if (answer.failure() != null) {
            // Spark's transfer has retried what can be; a lack of direct memory here is not the peer's fault.
            if (answer.failure() instanceof OutOfMemoryError) {
                again(answer.ref(), answer.failure());
                return null;
            }
            throw task.fail(answer.ref(), answer.failure());
        }
        try {
            FrameSource source = new FrameSource(answer.ref(), answer.buffer());
            task.remote(source.bytes(), ShuffleCounter.READ_NETTY_BYTES);
            return source;
        } catch (IOException e) {
            answer.buffer().release();
            again(answer.ref(), e);
            return null;
        }
    }

    /** Asks once more for a map output whose answer was of no use; fails at the second time. */
    private void again(MapRef ref, Throwable cause) {
        if (!askedAgain.add(ref)) {
            throw task.fail(ref, cause);
        }
        task.counters().add(ShuffleCounter.READ_RETRIES, 1);
        LOG.warn(
                "map output is fetched again: {}, shuffleId={}, mapId={}: {}",
                BlockClient.name(ref.location()),
                task.shuffleId(),
                ref.mapId(),
                cause.toString());
        add(List.of(ref));
    }

    @Override
    public void close() {
        fetcher.close();
    }
}
