package io.verbena.shuffle.reader;

import io.verbena.memory.OffHeap;
import java.io.InputStream;

/**
 * Verified bytes of one block (or of neighbouring blocks of one run), ready to decode: in memory at {@code base + offset} in
 * UnsafeRow's sense, or as a stream when they are too large for that.
 *
 * @param base {@code null} for off-heap memory, where {@code offset} is an absolute address, else a byte array
 * @param reduceId the (first) partition
 * @param large {@code null} unless the slice is only to be had as a stream
 */
record Slice(Object base, long offset, long length, int reduceId, InputStream large) {
    InputStream stream() {
        return large != null ? large : new SliceStream(this);
    }

    /** The bytes of a slice in memory. */
    private static final class SliceStream extends InputStream {
        private final Slice slice;
        private long position;

        SliceStream(Slice slice) {
            this.slice = slice;
        }

        @Override
        public int read() {
            if (position == slice.length) {
                return -1;
            }
            long at = slice.offset + position++;
            return slice.base == null
                    ? OffHeap.getByte(at) & 0xff
                    : ((byte[]) slice.base)[(int) (at - OffHeap.BYTE_ARRAY_OFFSET)] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) {
            if (length == 0) {
                return 0;
            }
            int n = (int) Math.min(length, slice.length - position);
            if (n == 0) {
                return -1;
            }
            OffHeap.copy(slice.base, slice.offset + position, target, OffHeap.BYTE_ARRAY_OFFSET + offset, n);
            position += n;
            return n;
        }

        @Override
        public int available() {
            return (int) Math.min(Integer.MAX_VALUE, slice.length - position);
        }
    }
}
