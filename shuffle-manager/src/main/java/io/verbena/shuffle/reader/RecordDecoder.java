package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.BlockLayout;
import java.io.IOException;
import java.io.InputStream;
import java.util.NoSuchElementException;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.storage.ShuffleBlockId;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Records of all sources of a reduce task, in the order the sources come. Plain records of neighbouring map outputs are decoded
 * by one stream; rows are handed out pointing at the memory they lie in.
 *
 * <p>Threads: confined to the reduce task.
 */
final class RecordDecoder extends AbstractIterator<Object> {
    /** Records between two reports to Spark's metrics, which the UI shows while the task runs. */
    private static final int REPORT_EVERY = 1024;

    private final SourceQueue sources;
    private final SerializerInstance serializer;
    private final SerializerManager wrapping;
    private final RowCursor rows;
    private final PairCursor pairs;
    private final int shuffleId;
    private final ShuffleReadMetricsReporter metrics;
    private BlockSource ahead;
    private Iterator<?> current = scala.collection.Iterator$.MODULE$.empty();
    private long unreported;

    /**
     * Creates the decoder.
     *
     * @param rows decodes sources of layout ROWS; {@code null} when the shuffle has no rows
     */
    RecordDecoder(
            SourceQueue sources,
            SerializerInstance serializer,
            SerializerManager wrapping,
            RowCursor rows,
            int shuffleId,
            ShuffleReadMetricsReporter metrics) {
        this.sources = sources;
        this.serializer = serializer;
        this.wrapping = wrapping;
        this.rows = rows;
        this.pairs = new PairCursor(serializer);
        this.shuffleId = shuffleId;
        this.metrics = metrics;
    }

    @Override
    public boolean hasNext() {
        return current.hasNext() || advance();
    }

    private boolean advance() {
        do {
            report();
            BlockSource source = nextSource();
            if (source == null) {
                return false;
            }
            current = decode(source);
        } while (!current.hasNext());
        return true;
    }

    @Override
    public Object next() {
        if (!hasNext()) {
            throw new NoSuchElementException("no more records of shuffle " + shuffleId);
        }
        Object record = current.next();
        if (++unreported == REPORT_EVERY) {
            report();
        }
        return record;
    }

    /** Tells Spark of the records read since the last report. */
    void report() {
        metrics.incRecordsRead(unreported);
        unreported = 0;
    }

    private BlockSource nextSource() {
        BlockSource source = ahead != null ? ahead : sources.next();
        ahead = null;
        return source;
    }

    /** The next source if it has the layout; another one ends the stream and is decoded next. */
    private BlockSource nextOf(BlockLayout layout) {
        ahead = sources.next();
        if (ahead == null || ahead.layout() != layout) {
            return null;
        }
        return nextSource();
    }

    private Iterator<?> decode(BlockSource source) {
        return switch (source.layout()) {
            case ROWS -> rows.iterate(slices(source));
            case PAIRS -> pairs.iterate(slices(source));
            case RECORDS ->
                serializer
                        .deserializeStream(new SlicesStream(new PlainSlices(source)))
                        .asKeyValueIterator();
            case ENCRYPTED, WRAPPED -> new SliceIterators(slices(source), source);
            case SPARK -> new SliceIterators(new Blocks(slices(source)), source);
        };
    }

    private Slices slices(BlockSource source) {
        return () -> sources.nextSlice(source);
    }

    /** Slices one after the other, {@code null} at the end. */
    interface Slices {
        Slice next();
    }

    /** All plain slices: of this source and of those of layout RECORDS that come right behind it. */
    private final class PlainSlices implements Slices {
        private BlockSource source;

        PlainSlices(BlockSource first) {
            this.source = first;
        }

        @Override
        public Slice next() {
            while (source != null) {
                Slice slice = sources.nextSlice(source);
                if (slice != null) {
                    return slice;
                }
                source = nextOf(BlockLayout.RECORDS);
            }
            return null;
        }
    }

    /**
     * Joins slices of the same partition: a block of Spark's own writers is one stream. The next slice is asked for only when the
     * stream needs it: asking behind the last one closes the source, and with it what is still to be read.
     */
    private static final class Blocks implements Slices {
        private final Slices slices;
        private Slice ahead;
        private int reduceId = -1;

        Blocks(Slices slices) {
            this.slices = slices;
        }

        @Override
        public Slice next() {
            // What the serializer left of the block before, after it saw the end of its stream.
            Slice first = more();
            while (first != null) {
                first = more();
            }
            first = ahead != null ? ahead : slices.next();
            ahead = null;
            if (first == null) {
                return null;
            }
            reduceId = first.reduceId();
            return new Slice(null, 0, first.length(), reduceId, new SlicesStream(first, this::more));
        }

        /** The next slice of the same block, {@code null} when there is none. */
        private Slice more() {
            if (ahead == null && reduceId >= 0) {
                ahead = slices.next();
            }
            if (ahead == null || ahead.reduceId() != reduceId) {
                if (ahead == null) {
                    reduceId = -1;
                }
                return null;
            }
            Slice slice = ahead;
            ahead = null;
            return slice;
        }
    }

    /** One deserialisation stream per slice, unwrapped as its layout says. */
    private final class SliceIterators extends AbstractIterator<Object> {
        private final Slices slices;
        private final BlockSource source;
        private Iterator<?> inner = scala.collection.Iterator$.MODULE$.empty();

        SliceIterators(Slices slices, BlockSource source) {
            this.slices = slices;
            this.source = source;
        }

        @Override
        public boolean hasNext() {
            while (!inner.hasNext()) {
                Slice slice = slices.next();
                if (slice == null) {
                    return false;
                }
                ShuffleBlockId id = new ShuffleBlockId(shuffleId, source.ref().mapId(), slice.reduceId());
                InputStream unwrapped = source.layout() == BlockLayout.ENCRYPTED
                        ? wrapping.wrapForEncryption(slice.stream())
                        : wrapping.wrapStream(id, slice.stream());
                inner = serializer.deserializeStream(unwrapped).asKeyValueIterator();
            }
            return true;
        }

        @Override
        public Object next() {
            return inner.next();
        }
    }

    /** Slices as one stream. */
    private static final class SlicesStream extends InputStream {
        private final Slices slices;
        private InputStream in = InputStream.nullInputStream();

        SlicesStream(Slices slices) {
            this.slices = slices;
        }

        SlicesStream(Slice first, Slices rest) {
            this(rest);
            this.in = first.stream();
        }

        @Override
        public int read() throws IOException {
            int value = in.read();
            while (value < 0 && advance()) {
                value = in.read();
            }
            return value;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int n = in.read(target, offset, length);
            while (n < 0 && advance()) {
                n = in.read(target, offset, length);
            }
            return n;
        }

        private boolean advance() {
            Slice slice = slices.next();
            if (slice == null) {
                return false;
            }
            in = slice.stream();
            return true;
        }
    }
}
