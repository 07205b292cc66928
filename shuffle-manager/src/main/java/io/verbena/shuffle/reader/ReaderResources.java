package io.verbena.shuffle.reader;

import io.verbena.shuffle.resolver.BlockServer;
import io.verbena.shuffle.resolver.MapOutputStore;
import java.io.File;
import java.util.function.Supplier;
import org.apache.spark.serializer.SerializerManager;

/**
 * What every reader of an executor shares; owned by the executor's runtime. Immutable, its parts are safe for any thread.
 *
 * @param executorId this executor: its map outputs are read without a transport
 * @param store map outputs held here
 * @param server frames of what lies on this executor's disk
 * @param peers other executors; {@code null} when neighbours are not to be read in place
 * @param client Spark's block transfer
 * @param serializers compression and encryption as Spark is configured
 * @param fetchTimeoutMs how long to wait for any answer
 * @param maxBytesInFlight bound of one task's requests over Spark's block transfer
 * @param maxBytesToMemory larger map outputs are fetched to a file (spark.network.maxRemoteBlockSizeFetchToMem)
 * @param tempFiles makes such files
 * @param ownSort whether records are put in order by our sorter rather than Spark's
 */
public record ReaderResources(
        String executorId,
        MapOutputStore store,
        BlockServer server,
        PeerRegistry peers,
        BlockClient client,
        SerializerManager serializers,
        long fetchTimeoutMs,
        long maxBytesInFlight,
        long maxBytesToMemory,
        Supplier<File> tempFiles,
        boolean ownSort) {}
