package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.metadata.ReservedBlocks;
import java.io.IOException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.util.collection.OpenHashSet;
import scala.Option;

/**
 * Spark's resolver of shuffle files, which also answers the reserved block ids of our control plane and serves map outputs from
 * memory. Ordinary ids stay ordinary: whoever asks for one gets Spark's own format, from a stock file.
 *
 * <p>Threads: any.
 */
final class RdmaBlockResolver extends IndexShuffleBlockResolver {
    private final RdmaShuffleManager manager;
    private final ConcurrentHashMap<Object, OpenHashSet<Object>> migrated;

    RdmaBlockResolver(SparkConf conf, RdmaShuffleManager manager) {
        this(conf, manager, new ConcurrentHashMap<>());
    }

    private RdmaBlockResolver(
            SparkConf conf, RdmaShuffleManager manager, ConcurrentHashMap<Object, OpenHashSet<Object>> migrated) {
        super(conf, null, migrated);
        this.manager = manager;
        this.migrated = migrated;
    }

    @Override
    public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> dirs) {
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
                if (ReservedBlocks.isFrame(id.startReduceId())) {
                    return manager.runtime()
                            .server()
                            .frame(
                                    id.shuffleId(),
                                    id.mapId(),
                                    ReservedBlocks.encodeReduceId(id.startReduceId()),
                                    ReservedBlocks.encodeReduceId(id.endReduceId()));
                }
                toDisk(id.shuffleId(), id.mapId());
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException("cannot serve " + blockId + ": " + e.getMessage(), e);
        }
        return super.getBlockData(blockId, dirs);
    }

    private void toDisk(int shuffleId, long mapId) {
        ExecutorRuntime runtime = manager.runtimeIfStarted();
        if (runtime != null) {
            runtime.evictor().evictIfInMemory(shuffleId, mapId);
        }
    }

    /** Removes files that decommissioned executors sent here. */
    void removeMigrated(int shuffleId) {
        OpenHashSet<Object> mapIds = migrated.remove(shuffleId);
        if (mapIds != null) {
            scala.collection.Iterator<Object> all = mapIds.iterator();
            while (all.hasNext()) {
                removeDataByMap(shuffleId, (Long) all.next());
            }
        }
    }
}
