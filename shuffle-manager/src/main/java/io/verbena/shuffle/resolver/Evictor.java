package io.verbena.shuffle.resolver;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaStatistics;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.ReadLease;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes room: above the high-water mark the coldest shuffles' map outputs are written as stock shuffle files and their memory
 * retires. Spark removes shuffles only when the driver's garbage collector notices, so without this a long application fills
 * its memory with outputs nobody will read.
 *
 * <p>Threads: {@link #maybeEvict} from any; evictions run one at a time on the given executor, never on a task thread.
 */
public final class Evictor {
    private static final Logger LOG = LoggerFactory.getLogger(Evictor.class);

    /** Evict until this far below the mark, so that eviction comes in batches and not with every commit. */
    private static final double HYSTERESIS = 0.10;

    private final Arena arena;
    private final MapOutputStore store;
    private final StockFiles files;
    private final ShuffleCounters counters;
    private final Executor background;
    private final double highWaterMark;
    private final AtomicBoolean running = new AtomicBoolean();

    /** Creates the evictor; it owns none of its parts. */
    public Evictor(
            Arena arena,
            MapOutputStore store,
            StockFiles files,
            ShuffleCounters counters,
            Executor background,
            double highWaterMark) {
        this.arena = arena;
        this.store = store;
        this.files = files;
        this.counters = counters;
        this.background = background;
        this.highWaterMark = highWaterMark;
    }

    /** Starts an eviction in the background if memory in use is above the high-water mark and none is running. */
    public void maybeEvict() {
        if (usedAbove(highWaterMark) && running.compareAndSet(false, true)) {
            background.execute(() -> {
                try {
                    evictDownTo(Math.max(0, highWaterMark - HYSTERESIS));
                } catch (RuntimeException e) {
                    LOG.warn("eviction stopped: {}; map outputs that do not fit go to disk", e.toString(), e);
                } finally {
                    running.set(false);
                }
            });
        }
    }

    private boolean usedAbove(double share) {
        ArenaStatistics now = arena.statistics();
        return now.leasedBytes() > share * now.budgetBytes();
    }

    private void evictDownTo(double share) {
        for (int shuffleId : store.coldestFirst()) {
            long bytes = 0;
            int outputs = 0;
            for (MapOutput.InMemory output : store.inMemory(shuffleId)) {
                if (!usedAbove(share)) {
                    break;
                }
                if (evict(shuffleId, output)) {
                    bytes += output.bytes();
                    outputs++;
                }
            }
            if (outputs > 0) {
                LOG.info(
                        "evicted map outputs to stock shuffle files: shuffleId={}, mapOutputs={}, bytes={}; raise spark.shuffle.rdma.memory.size to keep more in memory",
                        shuffleId,
                        outputs,
                        bytes);
            }
            if (!usedAbove(share)) {
                return;
            }
        }
    }

    /**
     * Moves one map output to disk. One at a time: two writers of one output would remove each other's file.
     *
     * @return false if it could not be written (it stays in memory) or was removed meanwhile
     */
    synchronized boolean evict(int shuffleId, MapOutput.InMemory output) {
        ReadLease lease = store.lease(shuffleId);
        long fileBytes;
        try {
            if (!store.holds(shuffleId, output)) {
                return false;
            }
            long[] lengths =
                    files.write(shuffleId, output.mapId(), output.partitions(), output.open(), output.transcoder());
            fileBytes = Arrays.stream(lengths).sum();
        } catch (IOException e) {
            LOG.warn(
                    "cannot evict map output: shuffleId={}, mapId={}; it stays in memory: {}",
                    shuffleId,
                    output.mapId(),
                    e.toString());
            return false;
        } finally {
            lease.close();
        }
        if (!store.moveToDisk(shuffleId, output, fileBytes)) {
            files.remove(shuffleId, output.mapId());
            return false;
        }
        counters.add(ShuffleCounter.EVICTED_BYTES, output.bytes());
        counters.add(ShuffleCounter.EVICTED_MAP_OUTPUTS, 1);
        return true;
    }

    /** Moves everything to disk now, for a decommissioning executor whose blocks Spark will migrate. */
    public void evictAll() {
        for (int shuffleId : store.coldestFirst()) {
            store.inMemory(shuffleId).forEach(output -> evict(shuffleId, output));
        }
    }

    /** Moves one map output to disk now if it is in memory, for a reader that asks for Spark's own format. */
    public void evictIfInMemory(int shuffleId, long mapId) {
        if (store.get(shuffleId, mapId) instanceof MapOutput.InMemory memory) {
            evict(shuffleId, memory);
        }
    }
}
