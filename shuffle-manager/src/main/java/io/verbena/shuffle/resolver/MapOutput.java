package io.verbena.shuffle.resolver;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.shuffle.pairs.PairTranscoder;
import java.util.ArrayList;
import java.util.List;

/** One committed map output of this executor: in registered memory, or in a stock shuffle file. Immutable. */
public sealed interface MapOutput {
    /** The map task's attempt id. */
    long mapId();

    /** Number of reduce partitions. */
    int partitions();

    /**
     * In a stock Spark shuffle file of this executor.
     *
     * @param bytes of all blocks, as the file has them
     */
    record OnDisk(long mapId, int partitions, long bytes) implements MapOutput {}

    /**
     * In registered memory. What others are told about it is computed once, at commit: a lease on a run is dead from the moment
     * the output is withdrawn, while a directory or a count of it may still be under way.
     *
     * @param runs leases on the run images, in the order in which slices of one block follow each other; owned by the store
     * @param images the same runs, open; views for other threads are made of them
     * @param locations where the runs are, for readers
     * @param bytes memory held, index included
     * @param transcoder of layout PAIRS to Spark's own format; {@code null} for the others
     */
    record InMemory(
            long mapId,
            int partitions,
            BlockLayout layout,
            List<RegisteredBuffer> runs,
            List<RunImage> images,
            List<RunLocation> locations,
            long bytes,
            PairTranscoder transcoder)
            implements MapOutput {

        /** Describes runs that were just written; the leases must be live. */
        public static InMemory of(
                long mapId,
                int partitions,
                BlockLayout layout,
                List<RegisteredBuffer> runs,
                List<RunImage> images,
                PairTranscoder transcoder) {
            List<RunLocation> locations = new ArrayList<>(runs.size());
            long bytes = 0;
            for (RegisteredBuffer run : runs) {
                locations.add(new RunLocation(run.address(), run.region().rkey(), run.capacity()));
                bytes += run.capacity();
            }
            return new InMemory(
                    mapId,
                    partitions,
                    layout,
                    List.copyOf(runs),
                    List.copyOf(images),
                    List.copyOf(locations),
                    bytes,
                    transcoder);
        }

        /** The same map output with another transcoder for the same shuffle. */
        InMemory with(PairTranscoder shared) {
            return new InMemory(mapId, partitions, layout, runs, images, locations, bytes, shared);
        }

        /** Views of the runs for the calling thread; the caller holds a lease on the shuffle. */
        public List<RunImage> open() {
            List<RunImage> views = new ArrayList<>(images.size());
            for (RunImage image : images) {
                views.add(image.view());
            }
            return views;
        }
    }
}
