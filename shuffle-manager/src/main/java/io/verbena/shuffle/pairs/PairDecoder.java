package io.verbena.shuffle.pairs;

import io.verbena.memory.OffHeap;
import java.io.InputStream;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializerInstance;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Reads records of {@link PairFormat}. Keys and values are new objects, which do not refer to the memory they were read from.
 *
 * <p>Threads: confined to one at a time.
 */
public final class PairDecoder {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();

    private final PairInput in = new PairInput();
    private final Section section = new Section();
    private final SerializerInstance serializer;
    private DeserializationStream objects;

    /** @param serializer for keys and values that are no basic types; used from the first of them on */
    public PairDecoder(SerializerInstance serializer) {
        this.serializer = serializer;
    }

    /** Continues with the records of other memory; {@code base} and {@code offset} as in an UnsafeRow, {@code length} in bytes. */
    public void reset(Object base, long offset, long length) {
        in.reset(base, offset, length);
    }

    /** True while there are records. */
    public boolean hasNext() {
        return in.hasMore();
    }

    /** Takes the next record. */
    public Tuple2<Object, Object> next() {
        int tags = in.tags();
        int keyTag = tags & 0xff;
        int valueTag = tags >>> 8;
        if (keyTag == PairFormat.OBJECTS) {
            openSection();
            Object key = objects.readKey(ANY);
            Object value = objects.readValue(ANY);
            closeSection();
            return new Tuple2<>(key, value);
        }
        Object key = keyTag == PairFormat.OBJECT ? object(true) : in.plain(keyTag);
        Object value = valueTag == PairFormat.OBJECT ? object(false) : in.plain(valueTag);
        return new Tuple2<>(key, value);
    }

    private Object object(boolean isKey) {
        openSection();
        Object object = isKey ? objects.readKey(ANY) : objects.readValue(ANY);
        closeSection();
        return object;
    }

    private void openSection() {
        long at = in.section();
        section.base = in.base();
        section.position = at;
        section.end = in.position();
        if (objects == null) {
            objects = serializer.deserializeStream(section);
        }
    }

    /** Sees that a section of more than the serializer's buffer was read to its end; a shorter one is in the buffer as a whole. */
    private void closeSection() {
        if (section.position != section.end) {
            throw new IllegalStateException("the serializer left " + (section.end - section.position)
                    + " bytes of an object; it cannot be the one that wrote it");
        }
    }

    /**
     * One section after the other as a stream: each ends where it ends, so that a serializer which reads ahead does not read what is
     * not its own.
     */
    private static final class Section extends InputStream {
        private Object base;
        private long position;
        private long end;

        @Override
        public int read() {
            return position == end ? -1 : OffHeap.getByte(base, position++) & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            if (length == 0) {
                return 0;
            }
            int n = (int) Math.min(length, end - position);
            if (n == 0) {
                return -1;
            }
            OffHeap.copy(base, position, target, OffHeap.BYTE_ARRAY_OFFSET + offset, n);
            position += n;
            return n;
        }

        @Override
        public int available() {
            return (int) (end - position);
        }
    }
}
