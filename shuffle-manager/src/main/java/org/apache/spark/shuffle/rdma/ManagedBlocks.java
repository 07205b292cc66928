package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.metadata.ReservedBlocks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.util.collection.OpenHashSet;

/**
 * What our block resolvers add to Spark's: answers to the reserved block ids, and map outputs that move from memory to Spark's
 * own files before anyone sees them as such.
 *
 * <p>Threads: any.
 */
final class ManagedBlocks {
    private final RdmaShuffleManager manager;

    /** Map ids, by shuffle, of files that decommissioned executors sent here; filled by Spark's resolver. */
    private final ConcurrentHashMap<Object, OpenHashSet<Object>> migrated = new ConcurrentHashMap<>();

    /** Whether the thread is in {@link #receiving}. */
    private final ThreadLocal<Boolean> receives = ThreadLocal.withInitial(() -> false);

    ManagedBlocks(RdmaShuffleManager manager) {
        this.manager = manager;
    }

    ConcurrentHashMap<Object, OpenHashSet<Object>> migrated() {
        return migrated;
    }

    /**
     * Answers a reserved id; makes sure that the block of an ordinary id is in a stock file, since whoever asks for one expects
     * Spark's own format.
     *
     * @return {@code null} for an ordinary id: Spark's resolver answers it
     */
    ManagedBuffer serve(BlockId blockId) {
        try {
            if (blockId instanceof ShuffleBlockId id) {
                if (id.mapId() == ReservedBlocks.ENDPOINT_MAP_ID) {
                    return manager.runtime().server().endpoint();
                }
                if (id.mapId() == ReservedBlocks.DIRECTORY_MAP_ID) {
                    return manager.runtime().server().directory(id.shuffleId());
                }
                toDisk(id.shuffleId(), id.mapId());
            } else if (blockId instanceof ShuffleBlockBatchId id) {
                int start = ReservedBlocks.encodeReduceId(id.startReduceId());
                if (ReservedBlocks.isFrame(id.startReduceId(), id.endReduceId())) {
                    int end = ReservedBlocks.encodeReduceId(id.endReduceId());
                    return manager.runtime().server().frame(id.shuffleId(), id.mapId(), start, end);
                }
                if (ReservedBlocks.isPin(id.startReduceId(), id.endReduceId())) {
                    return manager.runtime().server().pin(id.shuffleId(), id.mapId(), start, id.endReduceId());
                }
                toDisk(id.shuffleId(), id.mapId());
            }
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot serve " + blockId + ": " + e.getMessage(), e);
        }
    }

    private void toDisk(int shuffleId, long mapId) {
        ExecutorRuntime runtime = manager.runtimeIfStarted();
        if (runtime != null) {
            runtime.evictor().evictIfInMemory(shuffleId, mapId);
        }
    }

    /**
     * Receives a file from a decommissioned executor. With a limit for such files Spark lists those that are here already, which must
     * not look like a migration away from this executor.
     */
    <T> T receiving(Supplier<T> spark) {
        receives.set(true);
        try {
            return spark.get();
        } finally {
            receives.remove();
        }
    }

    /** Moves everything to stock files: Spark is about to list them in order to migrate them to other executors. */
    void allToDiskToMigrate() {
        ExecutorRuntime runtime = manager.runtimeIfStarted();
        if (runtime != null && !receives.get()) {
            runtime.evictor().evictAll();
        }
    }

    /** Removes files of a shuffle that decommissioned executors sent here. */
    void removeMigrated(int shuffleId, IndexShuffleBlockResolver resolver) {
        OpenHashSet<Object> mapIds = migrated.remove(shuffleId);
        if (mapIds != null) {
            scala.collection.Iterator<Object> all = mapIds.iterator();
            while (all.hasNext()) {
                resolver.removeDataByMap(shuffleId, (Long) all.next());
            }
        }
    }
}
