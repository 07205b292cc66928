package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Map outputs in neighbours' memory, read where they lie. Threads: confined to the task. */
final class MappedWay {
    private static final Logger LOG = LoggerFactory.getLogger(MappedWay.class);

    private final ReadTask task;
    private final NettyWay fallback;
    private final Deque<InPlace> waiting = new ArrayDeque<>();
    private final LocalReads reads;

    private record InPlace(MapRef ref, PeerShuffle shuffle, MapOutputDirectory.Entry entry) {}

    /** @param fallback gets what cannot be read where it lies */
    MappedWay(ReadTask task, NettyWay fallback) {
        this.task = task;
        this.fallback = fallback;
        this.reads = new LocalReads(task, ShuffleCounter.READ_MAPPED_BYTES);
    }

    void add(MapRef ref, PeerShuffle shuffle, MapOutputDirectory.Entry entry) {
        waiting.add(new InPlace(ref, shuffle, entry));
    }

    /** Reports what was read so far. */
    void report() {
        reads.report();
    }

    /** Opens the next one; {@code null} after the last. */
    BlockSource poll() {
        for (InPlace block = waiting.poll(); block != null; block = waiting.poll()) {
            MapRef ref = block.ref();
            try {
                RunSource source =
                        new RunSource(ref, block.shuffle().open(ref.mapId(), block.entry(), task.partitions()));
                reads.add(source.bytes());
                return source;
            } catch (IOException e) {
                task.counters().add(ShuffleCounter.READ_RETRIES, 1);
                LOG.warn(
                        "map output in a neighbour's memory is fetched over the network instead: {}, shuffleId={}, mapId={}: {}",
                        BlockClient.name(ref.location()),
                        task.shuffleId(),
                        ref.mapId(),
                        e.getMessage());
                fallback.add(List.of(ref));
            }
        }
        return null;
    }
}
