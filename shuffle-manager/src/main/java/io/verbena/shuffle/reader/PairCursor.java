package io.verbena.shuffle.reader;

import io.verbena.shuffle.pairs.PairDecoder;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.SerializerInstance;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Records with keys and values of basic types, decoded where they lie; what is handed out does not refer to that memory.
 *
 * <p>Threads: confined to the reduce task.
 */
final class PairCursor {
    private final PairDecoder decoder;

    PairCursor(SerializerInstance serializer) {
        this.decoder = new PairDecoder(serializer);
    }

    /** Iterates over the records of slices of layout PAIRS; one iteration has ended before the next begins. */
    Iterator<Object> iterate(RecordDecoder.Slices slices) {
        return new Records(slices);
    }

    private final class Records extends AbstractIterator<Object> {
        private final RecordDecoder.Slices slices;

        Records(RecordDecoder.Slices slices) {
            this.slices = slices;
        }

        @Override
        public boolean hasNext() {
            while (!decoder.hasNext()) {
                Slice slice = slices.next();
                if (slice == null) {
                    return false;
                }
                if (slice.large() != null) {
                    throw new IllegalStateException(
                            "a run of records is never streamed: lengthBytes=" + slice.length());
                }
                decoder.reset(slice.base(), slice.offset(), slice.length());
            }
            return true;
        }

        @Override
        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException("no more records");
            }
            return decoder.next();
        }
    }
}
