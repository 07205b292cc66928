package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;

/**
 * A session in which several map tasks have written the same rows, each as many to every partition, and reduce tasks read one
 * partition after the other.
 */
final class ReduceSide implements AutoCloseable {
    private static final int ROW_BYTES = 104;

    private final LocalSession session;
    private final ShuffleDependency<Object, UnsafeRow, UnsafeRow> shuffle;
    private final long[] expected;
    private int next;

    /**
     * Writes the map outputs.
     *
     * @param asPeers read them as if another executor at this one's address had them
     */
    ReduceSide(Map<String, String> settings, int maps, int partitions, int rowsPerBlock, boolean asPeers) {
        Rows rows = Rows.evenly(ROW_BYTES, rowsPerBlock, partitions);
        session = LocalSession.start(settings);
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
        long sum = session.read(shuffle, partition, Rows::sum);
        Checks.require("sum of partition " + partition, sum, expected[partition]);
        return sum;
    }

    @Override
    public void close() {
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
