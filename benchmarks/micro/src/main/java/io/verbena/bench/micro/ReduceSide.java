package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.shuffle.rdma.RdmaShuffleManager;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;

/**
 * A session in which several map tasks have written the same rows, each as many to every partition, and reduce tasks read one
 * partition after the other.
 */
final class ReduceSide implements AutoCloseable {
    private static final int ROW_BYTES = 104;

    /** What Verbena stores before each row. */
    private static final int ROW_HEAD_BYTES = 8;

    private final LocalSession session;
    private final ShuffleDependency<Object, UnsafeRow, UnsafeRow> shuffle;
    private final long[] expected;
    private final Manager manager;
    private final boolean asPeers;
    private final int maps;
    private final long taskBytes;
    private int next;
    private long tasks;

    /**
     * Writes the map outputs.
     *
     * @param asPeers read them as if another executor at this one's address had them
     */
    ReduceSide(Manager manager, int maps, int partitions, int rowsPerBlock, boolean asPeers) {
        this.manager = manager;
        this.asPeers = asPeers;
        this.maps = maps;
        this.taskBytes = (long) maps * rowsPerBlock * (ROW_BYTES + ROW_HEAD_BYTES);
        Rows rows = Rows.evenly(ROW_BYTES, rowsPerBlock, partitions);
        session = LocalSession.start(manager);
        shuffle = session.shuffle(new Rows.KeyIsPartition(partitions), new UnsafeRowSerializer(rows.fields(), null));
        List<LocalSession.Written> outputs = new ArrayList<>();
        for (int map = 0; map < maps; map++) {
            outputs.add(session.write(shuffle, rows.iterator()));
        }
        session.publish(shuffle, outputs, asPeers);
        expected = new long[partitions];
        for (int p = 0; p < partitions; p++) {
            expected[p] = maps * rows.sum(p);
        }
    }

    /** Runs a reduce task that touches every byte of its rows. */
    long read() {
        int partition = next;
        next = (next + 1) % expected.length;
        LocalSession.Read read = session.read(shuffle, partition, Rows::sum);
        Checks.require("sum of partition " + partition, read.result(), expected[partition]);
        // Verbena counts what it maps as local.
        boolean remote = asPeers && manager != Manager.VERBENA;
        Checks.require("local blocks", read.localBlocks(), remote ? 0 : maps);
        Checks.require("remote blocks", read.remoteBlocks(), remote ? maps : 0);
        tasks++;
        return read.result();
    }

    /** Ends the session and checks, for Verbena, that every byte came the way that was meant. */
    @Override
    public void close() {
        if (manager == Manager.VERBENA) {
            ShuffleCounter way = asPeers ? ShuffleCounter.READ_MAPPED_BYTES : ShuffleCounter.READ_SELF_BYTES;
            Checks.require("bytes by " + way, RdmaShuffleManager.totals().get(way), tasks * taskBytes);
        }
        session.remove(shuffle);
        session.close();
    }

    /** The same blocks lying in memory; a reduce task copies each, then touches every byte. */
    static final class Memory implements AutoCloseable {
        private final int maps;
        private final int partitions;
        private final int blockBytes;
        private final long blocks;
        private final long copy;
        private final long expected;
        private int next;

        /** Makes the blocks, all alike. */
        Memory(int maps, int partitions, int rowsPerBlock) {
            this.maps = maps;
            this.partitions = partitions;
            this.blockBytes = rowsPerBlock * ROW_BYTES;
            Rows rows = Rows.evenly(ROW_BYTES, rowsPerBlock, 1);
            blocks = OffHeap.allocate((long) maps * partitions * blockBytes);
            copy = OffHeap.allocate(blockBytes);
            for (int block = 0; block < maps * partitions; block++) {
                rows.copyTo(blocks + (long) block * blockBytes);
            }
            expected = maps * rows.sum(0);
        }

        long read() {
            int partition = next;
            next = (next + 1) % partitions;
            long sum = 0;
            for (int map = 0; map < maps; map++) {
                OffHeap.copy(null, blocks + ((long) map * partitions + partition) * blockBytes, null, copy, blockBytes);
                for (int row = 0; row < blockBytes; row += ROW_BYTES) {
                    sum += Rows.hash(null, copy + row, ROW_BYTES);
                }
            }
            Checks.require("sum", sum, expected);
            return sum;
        }

        @Override
        public void close() {
            OffHeap.free(blocks);
            OffHeap.free(copy);
        }
    }
}
