package io.verbena.shuffle.reader;

import io.verbena.memory.OffHeap;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Rows where they lie: one UnsafeRow object that is pointed at each row in turn, as Spark's own row stream reuses its row. Who
 * keeps a row copies it.
 *
 * <p>Threads: confined to the reduce task.
 */
final class RowCursor {
    private final UnsafeRow row;
    private final Tuple2<Object, Object> record;

    RowCursor(int fields) {
        this.row = new UnsafeRow(fields);
        // The key is the partition id, which only the map side needs; Spark's row stream gives 0 as well.
        this.record = new Tuple2<>(0, row);
    }

    /** Iterates over the rows of slices of layout ROWS. */
    Iterator<Object> iterate(RecordDecoder.Slices slices) {
        return new Rows(slices);
    }

    private final class Rows extends AbstractIterator<Object> {
        private final RecordDecoder.Slices slices;
        private Object base;
        private long position;
        private long end;

        Rows(RecordDecoder.Slices slices) {
            this.slices = slices;
        }

        @Override
        public boolean hasNext() {
            while (position >= end) {
                Slice slice = slices.next();
                if (slice == null) {
                    return false;
                }
                if (slice.large() != null) {
                    throw new IllegalStateException("a run of rows is never streamed: lengthBytes=" + slice.length());
                }
                base = slice.base();
                position = slice.offset();
                end = position + slice.length();
            }
            return true;
        }

        @Override
        public Object next() {
            if (position >= end && !hasNext()) {
                throw new java.util.NoSuchElementException("no more rows");
            }
            int length = (int) (base == null ? OffHeap.getLong(position) : OffHeap.getLong(base, position));
            row.pointTo(base, position + Long.BYTES, length);
            position += Long.BYTES + length;
            return record;
        }
    }
}
