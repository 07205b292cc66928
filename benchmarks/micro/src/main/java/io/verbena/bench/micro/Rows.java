package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
import java.util.Random;
import org.apache.spark.Partitioner;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.MutablePair;
import scala.Product2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Rows of columns of 8 bytes, handed out as Spark SQL's exchange does: one pair and one row object are reused, the key is the
 * partition.
 */
final class Rows {
    private final int fields;
    private final int bytes;
    private final int distinct;
    private final byte[] content;
    private final int[] partitionOf;
    private final Integer[] keys;

    /**
     * Makes rows.
     *
     * @param bytes of a row, a multiple of 8
     * @param count of rows
     * @param partitions rows go to them at random
     */
    Rows(int bytes, int count, int partitions) {
        this(bytes, random(count, partitions), partitions);
    }

    private Rows(int bytes, int[] partitionOf, int partitions) {
        this.bytes = bytes;
        this.fields = fieldsOf(bytes);
        this.distinct = Content.POOL_BYTES / bytes;
        this.content = Content.words(distinct * bytes);
        this.partitionOf = partitionOf;
        this.keys = new Integer[partitions];
        for (int p = 0; p < partitions; p++) {
            keys[p] = p;
        }
        int nulls = UnsafeRow.calculateBitSetWidthInBytes(fields);
        for (int row = 0; row < distinct; row++) {
            for (int i = 0; i < nulls; i++) {
                content[row * bytes + i] = 0;
            }
        }
    }

    /** The same number of rows for every partition, in turn. */
    static Rows evenly(int bytes, int rowsPerPartition, int partitions) {
        int[] partitionOf = new int[rowsPerPartition * partitions];
        for (int i = 0; i < partitionOf.length; i++) {
            partitionOf[i] = i % partitions;
        }
        return new Rows(bytes, partitionOf, partitions);
    }

    private static int[] random(int count, int partitions) {
        Random random = new Random(11);
        return random.ints(count, 0, partitions).toArray();
    }

    private static int fieldsOf(int bytes) {
        int fields = bytes / 8 - 1;
        while (UnsafeRow.calculateBitSetWidthInBytes(fields) + 8 * fields > bytes) {
            fields--;
        }
        if (UnsafeRow.calculateBitSetWidthInBytes(fields) + 8 * fields != bytes) {
            throw new IllegalArgumentException("no row of columns of 8 bytes has bytes=" + bytes);
        }
        return fields;
    }

    int fields() {
        return fields;
    }

    int count() {
        return partitionOf.length;
    }

    /** Sum of the hashes of a partition's rows. */
    long sum(int partition) {
        long sum = 0;
        for (int i = 0; i < partitionOf.length; i++) {
            if (partitionOf[i] == partition) {
                sum += hash(content, offset(i), bytes);
            }
        }
        return sum;
    }

    /** Where a row lies in {@link #content}. */
    private long offset(int row) {
        return Platform.BYTE_ARRAY_OFFSET + (long) row % distinct * bytes;
    }

    /** Copies all rows, one behind the other. */
    void copyTo(long address) {
        long to = address;
        for (int i = 0; i < partitionOf.length; i++) {
            OffHeap.copy(content, offset(i), null, to, bytes);
            to += bytes;
        }
    }

    /** Touches each byte, as whoever asks for a row does sooner or later: a shuffle may hand it out without having done so. */
    static long hash(Object base, long offset, int bytes) {
        long end = offset + bytes;
        long hash = 0;
        for (long at = offset; at < end; at += Long.BYTES) {
            hash = hash * 31 + Platform.getLong(base, at);
        }
        return hash;
    }

    /** Sums up what {@link #sum} would, of rows that were read. */
    static long sum(Iterator<Product2<Object, UnsafeRow>> rows) {
        long sum = 0;
        while (rows.hasNext()) {
            UnsafeRow row = rows.next()._2();
            sum += hash(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
        }
        return sum;
    }

    /** All rows with their partitions. */
    Iterator<Product2<Object, UnsafeRow>> iterator() {
        UnsafeRow row = new UnsafeRow(fields);
        MutablePair<Object, UnsafeRow> pair = new MutablePair<>(null, row);
        return new AbstractIterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < partitionOf.length;
            }

            @Override
            public Product2<Object, UnsafeRow> next() {
                row.pointTo(content, offset(next), bytes);
                pair._1_$eq(keys[partitionOf[next++]]);
                return pair;
            }
        };
    }

    /** The key is the partition, as in Spark SQL. */
    static final class KeyIsPartition extends Partitioner {
        private static final long serialVersionUID = 1L;
        private final int partitions;

        KeyIsPartition(int partitions) {
            this.partitions = partitions;
        }

        @Override
        public int numPartitions() {
            return partitions;
        }

        @Override
        public int getPartition(Object key) {
            return (Integer) key;
        }
    }
}
