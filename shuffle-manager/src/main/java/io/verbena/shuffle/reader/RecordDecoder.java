package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.BlockLayout;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.ShuffleBlockId;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

/**
 * Records of all sources of a reduce task, in the order the sources come. Plain records of any number of map outputs are decoded
 * by one stream; rows are handed out pointing at the memory they lie in.
 *
 * <p>Threads: confined to the reduce task.
 */
final class RecordDecoder extends AbstractIterator<Object> {
    private final SourceQueue sources;
    private final SerializerInstance serializer;
    private final SerializerManager wrapping;
    private final RowCursor rows;
    private final int shuffleId;
    private final Deque<BlockSource> putBack = new ArrayDeque<>();
    private Iterator<?> current = scala.collection.Iterator$.MODULE$.empty();
    private long records;

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
            int shuffleId) {
        this.sources = sources;
        this.serializer = serializer;
        this.wrapping = wrapping;
        this.rows = rows;
        this.shuffleId = shuffleId;
    }

    /** Records handed out so far. */
    long records() {
        return records;
    }

    @Override
    public boolean hasNext() {
        while (!current.hasNext()) {
            BlockSource source = nextSource();
            if (source == null) {
                return false;
            }
            current = decode(source);
        }
        return true;
    }

    @Override
    public Object next() {
        if (!hasNext()) {
            throw new java.util.NoSuchElementException("no more records");
        }
        records++;
        return current.next();
    }

    private BlockSource nextSource() {
        BlockSource source = putBack.poll();
        return source != null ? source : sources.next();
    }

    /** The next source if it has the layout; another one is kept for later. */
    private BlockSource nextOf(BlockLayout layout) {
        for (BlockSource source = sources.next(); source != null; source = sources.next()) {
            if (source.layout() == layout) {
                return source;
            }
            putBack.add(source);
        }
        return null;
    }

    private Iterator<?> decode(BlockSource source) {
        return switch (source.layout()) {
            case ROWS -> rows.iterate(slices(source));
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

    /** All plain slices: of this source and of every other one of layout RECORDS that is still to come. */
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

    /** Joins slices of the same partition: a block of Spark's own writers is one stream. */
    private static final class Blocks implements Slices {
        private final Slices slices;
        private Slice ahead;

        Blocks(Slices slices) {
            this.slices = slices;
            this.ahead = slices.next();
        }

        @Override
        public Slice next() {
            if (ahead == null) {
                return null;
            }
            Slice first = ahead;
            ahead = slices.next();
            if (ahead == null || ahead.reduceId() != first.reduceId()) {
                return first;
            }
            List<InputStream> parts = new ArrayList<>();
            parts.add(first.stream());
            long length = first.length();
            while (ahead != null && ahead.reduceId() == first.reduceId()) {
                parts.add(ahead.stream());
                length += ahead.length();
                ahead = slices.next();
            }
            return new Slice(
                    null, 0, length, first.reduceId(), new SequenceInputStream(Collections.enumeration(parts)));
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
