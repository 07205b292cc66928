package io.verbena.shuffle.writer;

import io.verbena.memory.OffHeap;
import java.io.OutputStream;

/** Appends to a scratch buffer, which grows. Threads: confined to the task. */
final class ScratchStream extends OutputStream {
    private final ScratchBuffer buffer;
    private long position;

    ScratchStream(ScratchBuffer buffer) {
        this.buffer = buffer;
    }

    long position() {
        return position;
    }

    void rewind() {
        position = 0;
    }

    @Override
    public void write(int value) {
        buffer.reserve(position + 1, position);
        OffHeap.putByte(buffer.address() + position++, (byte) value);
    }

    @Override
    public void write(byte[] source, int offset, int length) {
        buffer.reserve(position + length, position);
        OffHeap.copy(source, OffHeap.BYTE_ARRAY_OFFSET + offset, null, buffer.address() + position, length);
        position += length;
    }
}
