package io.verbena.shuffle.writer;

import io.verbena.arena.Arena;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.resolver.Evictor;
import io.verbena.shuffle.resolver.MapOutputStore;
import io.verbena.shuffle.resolver.StockFiles;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.DiskBlockManager;

/**
 * What every writer of an executor shares; owned by the executor's runtime. Immutable, its parts are safe for any thread.
 *
 * @param arena registered memory for runs
 * @param segmentBytes size of a segment; a run never crosses one
 * @param store where finished map outputs go
 * @param files the way to disk
 * @param evictor told when memory fills
 * @param staging pooled staging buffers
 * @param disk temporary files
 * @param serializers compression and encryption as Spark is configured
 * @param compressInMemory true when blocks in memory follow spark.shuffle.compress
 */
public record WriterResources(
        Arena arena,
        long segmentBytes,
        MapOutputStore store,
        StockFiles files,
        Evictor evictor,
        StagingPool staging,
        DiskBlockManager disk,
        SerializerManager serializers,
        boolean compressInMemory) {
    /** Data to collect before a run is written: what a staging buffer holds, but no more than fits a segment with its index. */
    long runBytes(int partitions) {
        return Math.min(staging.capacity(), Math.max(1, segmentBytes - RunImage.overhead(partitions)));
    }
}
