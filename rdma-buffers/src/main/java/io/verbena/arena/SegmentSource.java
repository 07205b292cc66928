package io.verbena.arena;

import io.verbena.memory.BackingException;
import io.verbena.memory.Segment;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes registered segments and gives them back: the slow calls, made without the arena's lock. Threads: any; stateless. */
final class SegmentSource {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentSource.class);

    /** Ids are unique in the process: a file of a segment and a peer's view of it are named by them. */
    private static final AtomicInteger NEXT_SEGMENT_ID = new AtomicInteger();

    private final SegmentBacking backing;
    private final Registrar registrar;
    private final long segmentBytes;

    SegmentSource(SegmentBacking backing, Registrar registrar, long segmentBytes) {
        this.backing = backing;
        this.registrar = registrar;
        this.segmentBytes = segmentBytes;
    }

    /** Returns up to {@code count} segments, registered in one batch; fewer or none, logged, if no more are to be had. */
    List<MemoryRegion> make(int count) {
        List<Segment> made = new ArrayList<>(count);
        List<MemoryRegion> regions = List.of();
        try {
            allocateInto(made, count);
            regions = registrar.register(made);
        } catch (IllegalStateException e) {
            LOG.warn("arena cannot grow: segments={} were not registered", made.size(), e);
        } finally {
            if (regions.isEmpty()) {
                made.forEach(backing::free);
            }
        }
        return regions;
    }

    private void allocateInto(List<Segment> made, int count) {
        try {
            while (made.size() < count) {
                made.add(backing.allocate(NEXT_SEGMENT_ID.getAndIncrement(), segmentBytes));
            }
        } catch (BackingException e) {
            LOG.warn("arena cannot grow: segments={}, wanted={}: {}", made.size(), count, e.getMessage());
        }
    }

    /** Deregisters, then frees. */
    void giveBack(List<MemoryRegion> regions) {
        registrar.deregister(regions);
        regions.forEach(region -> backing.free(region.segment()));
    }
}
