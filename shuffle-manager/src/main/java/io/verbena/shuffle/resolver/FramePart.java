package io.verbena.shuffle.resolver;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** One stretch of bytes of an answer: memory or a range of a file. */
sealed interface FramePart {
    long length();

    /** Opens the bytes from {@code skip} on; the stream may offer more than {@link #length}. */
    InputStream open(long skip) throws IOException;

    /** Writes up to {@code count} bytes from {@code skip} on; returns how many the channel took, maybe 0. */
    long transfer(WritableByteChannel target, long skip, long count) throws IOException;

    /** One part that is this one and {@code next}, if they lie one behind the other; else {@code null}. */
    FramePart join(FramePart next);

    /**
     * A range of a buffer; the frame's lease keeps the memory valid.
     *
     * @param whole used by absolute positions only, so it can be shared
     */
    record Memory(ByteBuffer whole, int offset, int size) implements FramePart {
        /** Netty copies a direct buffer written to its channel piece by piece; this bounds a piece. */
        private static final int MAX_WRITE = 1 << 20;

        Memory(ByteBuffer whole) {
            this(whole, 0, whole.limit());
        }

        @Override
        public long length() {
            return size;
        }

        @Override
        @SuppressWarnings("ReferenceEquality") // Equal contents are not the same memory.
        public FramePart join(FramePart next) {
            return next instanceof Memory memory && memory.whole == whole && memory.offset == offset + size
                    ? new Memory(whole, offset, size + memory.size)
                    : null;
        }

        /** The bytes from {@code skip} on. */
        ByteBuffer view(long skip) {
            return whole.slice(offset + (int) skip, size - (int) skip);
        }

        @Override
        public InputStream open(long skip) {
            return new ByteBufferStream(view(skip));
        }

        @Override
        public long transfer(WritableByteChannel target, long skip, long count) throws IOException {
            return target.write(whole.slice(offset + (int) skip, (int) Math.min(count, MAX_WRITE)));
        }
    }

    /** A range of a file that stays in place while the frame lives. */
    record FileRange(Path path, long offset, long length) implements FramePart {
        @Override
        public FramePart join(FramePart next) {
            return next instanceof FileRange range && range.path.equals(path) && range.offset == offset + length
                    ? new FileRange(path, offset, length + range.length)
                    : null;
        }

        @Override
        public InputStream open(long skip) throws IOException {
            FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
            return Channels.newInputStream(channel.position(offset + skip));
        }

        @Override
        public long transfer(WritableByteChannel target, long skip, long count) throws IOException {
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
                long written = channel.transferTo(offset + skip, count, target);
                // Nothing taken: the channel is full, or there is nothing to take and the caller would ask for ever.
                if (written == 0 && count > 0 && channel.size() <= offset + skip) {
                    throw new EOFException("shuffle file ends early: file=" + path + ", sizeBytes=" + channel.size()
                            + ", neededBytes=" + (offset + length));
                }
                return written;
            }
        }
    }
}
