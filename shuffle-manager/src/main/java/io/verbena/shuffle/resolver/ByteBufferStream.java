package io.verbena.shuffle.resolver;

import java.io.InputStream;
import java.nio.ByteBuffer;

/** The remaining bytes of a buffer as a stream. (Spark's ByteBufferInputStream releases the buffer it is given.) */
public final class ByteBufferStream extends InputStream {
    private final ByteBuffer buffer;

    /** Reads from the buffer's position to its limit; the caller keeps the memory valid. */
    public ByteBufferStream(ByteBuffer buffer) {
        this.buffer = buffer;
    }

    @Override
    public int read() {
        return buffer.hasRemaining() ? buffer.get() & 0xff : -1;
    }

    @Override
    public int read(byte[] target, int offset, int length) {
        if (length == 0) {
            return 0;
        }
        if (!buffer.hasRemaining()) {
            return -1;
        }
        int n = Math.min(length, buffer.remaining());
        buffer.get(target, offset, n);
        return n;
    }

    @Override
    public long skip(long count) {
        int n = (int) Math.max(0, Math.min(count, buffer.remaining()));
        buffer.position(buffer.position() + n);
        return n;
    }

    @Override
    public int available() {
        return buffer.remaining();
    }
}
