package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.seam.StoredShuffles;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import scala.Option;
import scala.collection.immutable.Seq;

/** Spark's resolver of shuffle files with ours on top, for Spark 3.5 and 4.0. Threads: any. */
final class RdmaBlockResolver extends IndexShuffleBlockResolver {
    private static final StoredShuffles STORED = StoredShuffles.of(java.lang.invoke.MethodHandles.lookup());

    private final ManagedBlocks blocks;

    RdmaBlockResolver(SparkConf conf, ManagedBlocks blocks) {
        super(conf, null, blocks.migrated());
        this.blocks = blocks;
    }

    @Override
    public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> dirs) {
        ManagedBuffer ours = blocks.serve(blockId);
        return ours == null ? super.getBlockData(blockId, dirs) : ours;
    }

    @Override
    public StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializers) {
        return blocks.receiving(() -> super.putShuffleBlockAsStream(blockId, serializers));
    }

    @Override
    public Seq<ShuffleBlockInfo> getStoredShuffles() {
        blocks.allToDiskToMigrate();
        return STORED.ofSpark(this);
    }
}
