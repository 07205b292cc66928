package io.verbena.shuffle.writer;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.pairs.PairTranscoder;
import io.verbena.shuffle.resolver.MapOutput;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects the runs of one map output: in registered memory while there is room, in a spill file from the first refusal on. At
 * the end the output is committed as a whole, in memory or as one stock shuffle file; until then nothing is visible.
 *
 * <p>Threads: confined to the task. Either {@link #commit} or {@link #abort} ends it; abort after commit does nothing.
 */
final class RunSink {
    private static final Logger LOG = LoggerFactory.getLogger(RunSink.class);

    private final WriterResources resources;
    private final CounterSink counters;
    private final int shuffleId;
    private final long mapId;
    private final int partitions;
    private final BlockLayout layout;
    private final PairTranscoder transcoder;
    private final long[] partitionLengths;
    private final List<RegisteredBuffer> runs = new ArrayList<>();
    private final List<RunImage> images = new ArrayList<>();
    private SpillFile spill;
    private ScratchBuffer spillScratch;

    /** Writes a run's data. */
    interface Filler {
        /** Fills the data from its absolute address on; slices lie where the starts given to {@link #add} say. */
        void fill(long dataAddress) throws IOException;
    }

    /** @param transcoder for layout PAIRS, else {@code null} */
    RunSink(
            WriterResources resources,
            CounterSink counters,
            int shuffleId,
            long mapId,
            int partitions,
            BlockLayout layout,
            PairTranscoder transcoder) {
        this.resources = resources;
        this.counters = counters;
        this.shuffleId = shuffleId;
        this.mapId = mapId;
        this.partitions = partitions;
        this.layout = layout;
        this.transcoder = transcoder;
        this.partitionLengths = new long[partitions];
    }

    /**
     * Adds a run.
     *
     * @param starts start of each partition's slice, the data's length last
     */
    void add(long[] starts, Filler filler) throws IOException {
        long imageBytes = RunImage.overhead(partitions) + starts[partitions];
        RegisteredBuffer memory = spill == null ? resources.arena().tryAcquire(imageBytes) : null;
        if (memory != null) {
            // In the list before it is filled, so that abort finds it.
            runs.add(memory);
            images.add(write(memory.buffer(), starts, filler));
        } else {
            if (spillScratch == null) {
                spillScratch = resources.staging().acquire();
            }
            ScratchBuffer scratch = spillScratch;
            scratch.reserve(imageBytes, 0);
            write(scratch.view(imageBytes), starts, filler);
            if (spill == null) {
                // Cold shuffles may fill the memory; the next map output finds room again.
                resources.evictor().maybeEvict();
                spill = new SpillFile(resources.disk().createTempShuffleBlock()._2());
            }
            spill.append(scratch.view(imageBytes));
        }
        for (int p = 0; p < partitions; p++) {
            partitionLengths[p] += starts[p + 1] - starts[p];
        }
    }

    private RunImage write(ByteBuffer image, long[] starts, Filler filler) throws IOException {
        filler.fill(OffHeap.addressOf(image) + RunImage.overhead(partitions));
        return RunImage.seal(image, mapId, layout, starts);
    }

    /** Bytes written to the spill file so far. */
    long spilledBytes() {
        return spill == null ? 0 : spill.size();
    }

    /**
     * Makes the map output visible.
     *
     * @return bytes of each partition as they are stored
     */
    long[] commit() throws IOException {
        if (spill == null) {
            MapOutput.InMemory output = MapOutput.InMemory.of(mapId, partitions, layout, runs, images, transcoder);
            resources.store().commit(shuffleId, output);
            runs.clear();
            counters.add(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES, output.bytes());
            resources.evictor().maybeEvict();
            return partitionLengths;
        }
        long[] lengths = overflow();
        long bytes = Arrays.stream(lengths).sum();
        resources.store().commit(shuffleId, new MapOutput.OnDisk(mapId, partitions, bytes));
        return lengths;
    }

    private long[] overflow() throws IOException {
        List<RunImage> all = new ArrayList<>(images);
        for (ByteBuffer image : spill.map()) {
            all.add(RunImage.open(image, mapId, partitions));
        }
        long[] lengths = resources.files().write(shuffleId, mapId, partitions, all, transcoder);
        long bytes = Arrays.stream(lengths).sum();
        counters.add(ShuffleCounter.OVERFLOWED_BYTES, bytes);
        counters.add(ShuffleCounter.OVERFLOWED_MAP_OUTPUTS, 1);
        LOG.info(
                "map output overflowed to a stock shuffle file: shuffleId={}, mapId={}, bytes={}; raise spark.shuffle.rdma.memory.size to keep it in memory",
                shuffleId,
                mapId,
                bytes);
        releaseAll();
        return lengths;
    }

    /** Gives everything back; for a task that fails, and a no-op after {@link #commit}. */
    void abort() {
        releaseAll();
    }

    private void releaseAll() {
        runs.forEach(RegisteredBuffer::release);
        runs.clear();
        images.clear();
        if (spillScratch != null) {
            resources.staging().release(spillScratch);
            spillScratch = null;
        }
        if (spill != null) {
            try {
                spill.close();
            } catch (IOException e) {
                LOG.warn("cannot remove a spill file: shuffleId={}, mapId={}: {}", shuffleId, mapId, e.toString());
            }
            spill = null;
        }
    }
}
