package io.verbena.shuffle.pairs;

import io.verbena.memory.OffHeap;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * Takes the parts of records of {@link PairFormat} off memory that was verified. Lengths are compared with the end all the same: no
 * fault of ours may read beyond it.
 *
 * <p>Threads: confined to one.
 */
final class PairInput {
    private Object base;
    private long position;
    private long end;
    private byte[] scratch = new byte[256];

    /** Continues with other memory; {@code base} and {@code offset} as in an UnsafeRow. */
    void reset(Object base, long offset, long length) {
        this.base = base;
        this.position = offset;
        this.end = offset + length;
    }

    boolean hasMore() {
        return position < end;
    }

    /** Takes the tags of a record: the key's in the lower byte, the value's in the next. */
    int tags() {
        long at = take(2);
        return (OffHeap.getByte(base, at) & 0xff) | ((OffHeap.getByte(base, at + 1) & 0xff) << 8);
    }

    Object base() {
        return base;
    }

    /** Takes the length of a section, and the section; returns where it begins. */
    long section() {
        int length = OffHeap.getInt(base, take(Integer.BYTES));
        return take(length);
    }

    /** Where the next part begins, and so where the last section ended. */
    long position() {
        return position;
    }

    /** Takes a key or value that is no object. */
    Object plain(int tag) {
        return switch (tag) {
            case PairFormat.LONG -> OffHeap.getLong(base, take(Long.BYTES));
            case PairFormat.BYTES -> bytes();
            case PairFormat.LATIN1 -> text(StandardCharsets.ISO_8859_1);
            case PairFormat.UTF8 -> text(StandardCharsets.UTF_8);
            case PairFormat.UTF16 -> utf16();
            case PairFormat.INT -> OffHeap.getInt(base, take(Integer.BYTES));
            case PairFormat.DOUBLE -> Double.longBitsToDouble(OffHeap.getLong(base, take(Long.BYTES)));
            case PairFormat.NULL -> null;
            case PairFormat.TRUE -> true;
            case PairFormat.FALSE -> false;
            case PairFormat.FLOAT -> Float.intBitsToFloat(OffHeap.getInt(base, take(Integer.BYTES)));
            case PairFormat.SHORT -> (short) OffHeap.getInt(base, take(Integer.BYTES));
            case PairFormat.BYTE -> OffHeap.getByte(base, take(1));
            default -> throw new IllegalStateException("unknown tag in a record: tag=" + tag);
        };
    }

    private byte[] bytes() {
        long at = section();
        byte[] bytes = new byte[(int) (position - at)];
        OffHeap.copy(base, at, bytes, OffHeap.BYTE_ARRAY_OFFSET, bytes.length);
        return bytes;
    }

    /** Takes a text's bytes to {@link #scratch} and returns how many there are. */
    private int encoded() {
        long at = section();
        int length = (int) (position - at);
        if (length > scratch.length) {
            scratch = new byte[Math.max(length, 2 * scratch.length)];
        }
        OffHeap.copy(base, at, scratch, OffHeap.BYTE_ARRAY_OFFSET, length);
        return length;
    }

    private String text(Charset charset) {
        int length = encoded();
        return new String(scratch, 0, length, charset);
    }

    private String utf16() {
        char[] chars = new char[encoded() / 2];
        for (int i = 0; i < chars.length; i++) {
            chars[i] = (char) ((scratch[2 * i] & 0xff) | ((scratch[2 * i + 1] & 0xff) << 8));
        }
        return new String(chars);
    }

    private long take(int length) {
        long at = position;
        if (length < 0 || length > end - at) {
            throw new IllegalStateException(
                    "a record goes beyond its block: lengthBytes=" + length + ", leftBytes=" + (end - at));
        }
        position = at + length;
        return at;
    }
}
