package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.seam.StoredShuffles;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import scala.Option;
import scala.collection.immutable.Seq;

/** The same as {@link RdmaBlockResolver} for Spark 4.1 and later. Threads: any. */
final class RdmaBlockResolver41 extends BlockResolverBase41 {
    private static final StoredShuffles STORED = StoredShuffles.of(java.lang.invoke.MethodHandles.lookup());

    private final ManagedBlocks blocks;

    RdmaBlockResolver41(SparkConf conf, ManagedBlocks blocks) {
        super(conf, blocks.migrated());
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
