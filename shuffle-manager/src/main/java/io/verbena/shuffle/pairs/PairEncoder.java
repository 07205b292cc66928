package io.verbena.shuffle.pairs;

import io.verbena.memory.OffHeap;
import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Writes records of {@link PairFormat}.
 *
 * <p>Threads: confined to the map task's thread. {@link #close} gives the serializer's buffers back.
 */
public final class PairEncoder implements Closeable {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final int CHAR_BITS_OF_LATIN1 = 8;

    private final PairTarget target;
    private final Serializer serializer;
    private final CharsetEncoder utf8 = StandardCharsets.UTF_8.newEncoder();
    private byte[] chars = new byte[256];
    private SerializationStream objects;

    /** @param serializer for keys and values of other types */
    public PairEncoder(PairTarget target, Serializer serializer) {
        this.target = target;
        this.serializer = serializer;
    }

    /** Appends one record. */
    public void write(Object key, Object value) throws IOException {
        target.append(2);
        if (!PairFormat.isPlain(key) && !PairFormat.isPlain(value)) {
            tag(0, PairFormat.OBJECTS);
            tag(1, 0);
            int section = beginSection();
            objects.writeKey(key, ANY);
            objects.writeValue(value, ANY);
            endSection(section);
            return;
        }
        tag(0, put(key, true));
        tag(1, put(value, false));
    }

    private void tag(int position, int tag) {
        OffHeap.putByte(target.address(position), (byte) tag);
    }

    private int put(Object value, boolean isKey) throws IOException {
        if (value instanceof Long number) {
            OffHeap.putLong(target.append(Long.BYTES), number);
            return PairFormat.LONG;
        }
        if (value instanceof byte[] bytes) {
            putBytes(bytes, bytes.length);
            return PairFormat.BYTES;
        }
        if (value instanceof String text) {
            return putText(text);
        }
        if (value instanceof Integer number) {
            OffHeap.putInt(target.append(Integer.BYTES), number);
            return PairFormat.INT;
        }
        if (value instanceof Double number) {
            OffHeap.putLong(target.append(Long.BYTES), Double.doubleToRawLongBits(number));
            return PairFormat.DOUBLE;
        }
        return putRare(value, isKey);
    }

    private int putRare(Object value, boolean isKey) throws IOException {
        if (value == null) {
            return PairFormat.NULL;
        }
        if (value instanceof Boolean flag) {
            return flag ? PairFormat.TRUE : PairFormat.FALSE;
        }
        if (value instanceof Float number) {
            OffHeap.putInt(target.append(Integer.BYTES), Float.floatToRawIntBits(number));
            return PairFormat.FLOAT;
        }
        if (value instanceof Short number) {
            OffHeap.putInt(target.append(Integer.BYTES), number);
            return PairFormat.SHORT;
        }
        if (value instanceof Byte number) {
            OffHeap.putByte(target.append(1), number);
            return PairFormat.BYTE;
        }
        int section = beginSection();
        if (isKey) {
            objects.writeKey(value, ANY);
        } else {
            objects.writeValue(value, ANY);
        }
        endSection(section);
        return PairFormat.OBJECT;
    }

    private int putText(String text) throws IOException {
        int length = text.length();
        if (length > chars.length) {
            chars = new byte[Math.max(length, 2 * chars.length)];
        }
        int all = 0;
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            chars[i] = (byte) c;
            all |= c;
        }
        if (all >>> CHAR_BITS_OF_LATIN1 == 0) {
            putBytes(chars, length);
            return PairFormat.LATIN1;
        }
        if (utf8.canEncode(text)) {
            byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
            if (encoded.length < 2L * length) {
                putBytes(encoded, encoded.length);
                return PairFormat.UTF8;
            }
        }
        int bytes = Math.multiplyExact(2, length);
        OffHeap.putInt(target.append(Integer.BYTES), bytes);
        long at = target.append(bytes);
        for (int i = 0; i < length; i++, at += 2) {
            char c = text.charAt(i);
            OffHeap.putByte(at, (byte) c);
            OffHeap.putByte(at + 1, (byte) (c >>> 8));
        }
        return PairFormat.UTF16;
    }

    private void putBytes(byte[] bytes, int length) throws IOException {
        OffHeap.putInt(target.append(Integer.BYTES), length);
        OffHeap.copy(bytes, OffHeap.BYTE_ARRAY_OFFSET, null, target.append(length), length);
    }

    private int beginSection() throws IOException {
        if (objects == null) {
            objects = serializer.newInstance().serializeStream(target.stream());
        }
        int section = target.length();
        target.append(Integer.BYTES);
        return section;
    }

    private void endSection(int section) {
        objects.flush();
        OffHeap.putInt(target.address(section), target.length() - section - Integer.BYTES);
    }

    @Override
    public void close() {
        if (objects != null) {
            objects.close();
            objects = null;
        }
    }
}
