package io.verbena.shuffle.resolver;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metadata.RunLocation;
import java.util.ArrayList;
import java.util.List;

/** One committed map output of this executor: in registered memory, or in a stock shuffle file. Immutable. */
public sealed interface MapOutput {
    /** The map task's attempt id. */
    long mapId();

    /** Number of reduce partitions. */
    int partitions();

    /** In a stock Spark shuffle file of this executor. */
    record OnDisk(long mapId, int partitions) implements MapOutput {}

    /**
     * In registered memory.
     *
     * @param runs leases on the run images, in the order in which slices of one block follow each other; owned by the store
     * @param images the same runs, open; views for other threads are made of them
     */
    record InMemory(long mapId, int partitions, BlockLayout layout, List<RegisteredBuffer> runs, List<RunImage> images)
            implements MapOutput {
        /** Views of the runs for the calling thread; the caller holds a lease on the shuffle. */
        public List<RunImage> open() {
            List<RunImage> views = new ArrayList<>(images.size());
            for (RunImage image : images) {
                views.add(image.view());
            }
            return views;
        }

        /** True when all runs lie in segments that a neighbour can map. */
        boolean isShareable() {
            return runs.stream().allMatch(run -> run.region().segment().file() != null);
        }

        List<RunLocation> locations() {
            List<RunLocation> locations = new ArrayList<>(runs.size());
            for (RegisteredBuffer run : runs) {
                locations.add(new RunLocation(run.address(), run.region().rkey(), run.capacity()));
            }
            return locations;
        }

        /** Bytes of memory held, index included. */
        public long bytes() {
            long total = 0;
            for (RegisteredBuffer run : runs) {
                total += run.capacity();
            }
            return total;
        }
    }
}
