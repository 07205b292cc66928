package io.verbena.shuffle.resolver;

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

    /** Direct or heap memory; the frame's lease keeps it valid. */
    record Memory(ByteBuffer bytes) implements FramePart {
        /** Netty copies a direct buffer written to its channel piece by piece; this bounds a piece. */
        private static final int MAX_WRITE = 1 << 20;

        @Override
        public long length() {
            return bytes.remaining();
        }

        @Override
        public InputStream open(long skip) {
            return new ByteBufferStream(bytes.slice(bytes.position() + (int) skip, (int) (length() - skip)));
        }

        @Override
        public long transfer(WritableByteChannel target, long skip, long count) throws IOException {
            return target.write(bytes.slice(bytes.position() + (int) skip, (int) Math.min(count, MAX_WRITE)));
        }
    }

    /** A range of a file that stays in place while the frame lives. */
    record FileRange(Path path, long offset, long length) implements FramePart {
        @Override
        public InputStream open(long skip) throws IOException {
            FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
            return Channels.newInputStream(channel.position(offset + skip));
        }

        @Override
        public long transfer(WritableByteChannel target, long skip, long count) throws IOException {
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
                return channel.transferTo(offset + skip, count, target);
            }
        }
    }
}
