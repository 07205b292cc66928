package io.verbena.shuffle.resolver;

import io.netty.handler.stream.ChunkedStream;
import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockFrame.ChecksumKind;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.transport.ReadLease;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.util.AbstractFileRegion;

/**
 * The answer to a request for a range of blocks: a {@link BlockFrame} head and the slices behind it, straight from registered
 * memory or from a stock file, of any length (beyond 2 GiB too).
 *
 * <p>Ownership: reference-counted like all of Spark's buffers, one reference at birth; the last {@link #release} ends the lease
 * that keeps the memory from being reused. Threads: counts are atomic; contents are immutable.
 */
public final class FrameBuffer extends ManagedBuffer {
    /** Small parts are joined up to this size; about four times what one socket write takes at once. */
    private static final int GATHER_BYTES = 256 << 10;

    private final List<FramePart> parts;
    private final long size;
    private final ReadLease lease;
    private final AtomicInteger references = new AtomicInteger(1);

    private FrameBuffer(List<FramePart> parts, ReadLease lease) {
        this.parts = parts;
        this.lease = lease;
        long total = 0;
        for (FramePart part : parts) {
            total += part.length();
        }
        this.size = total;
    }

    /** Collects slices in ascending order of their partition. */
    static final class Builder {
        private final BlockLayout layout;
        private final ChecksumKind kind;
        private final List<BlockFrame.Entry> entries = new ArrayList<>();
        private final List<FramePart> parts = new ArrayList<>();

        Builder(BlockLayout layout, ChecksumKind kind) {
            this.layout = layout;
            this.kind = kind;
        }

        void add(int reduceId, long checksum, FramePart part) {
            entries.add(new BlockFrame.Entry(reduceId, part.length(), checksum));
            FramePart joined =
                    parts.isEmpty() ? null : parts.get(parts.size() - 1).join(part);
            if (joined != null) {
                parts.set(parts.size() - 1, joined);
            } else {
                parts.add(part);
            }
        }

        FrameBuffer build(ReadLease lease) {
            BlockFrame head = new BlockFrame(layout, kind, entries);
            List<FramePart> all = new ArrayList<>(parts.size() + 1);
            all.add(new FramePart.Memory(head.encode()));
            all.addAll(parts);
            return new FrameBuffer(all, lease);
        }
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(size));
        try (InputStream in = createInputStream()) {
            if (in.readNBytes(copy.array(), 0, copy.capacity()) != copy.capacity()) {
                throw new IOException("blocks end early: expectedBytes=" + size);
            }
        }
        return copy;
    }

    @Override
    public InputStream createInputStream() {
        return new PartStream();
    }

    @Override
    public ManagedBuffer retain() {
        if (references.getAndIncrement() <= 0) {
            throw new IllegalStateException("buffer is retained after its release");
        }
        return this;
    }

    @Override
    public ManagedBuffer release() {
        int left = references.decrementAndGet();
        if (left < 0) {
            throw new IllegalStateException("buffer is released twice");
        }
        if (left == 0 && lease != null) {
            lease.close();
        }
        return this;
    }

    @Override
    public Object convertToNetty() {
        return new Region();
    }

    /** Abstract from Spark 4.0 on: encrypted channels cannot take a file region. */
    public Object convertToNettyForSsl() {
        return new ChunkedStream(createInputStream(), GATHER_BYTES);
    }

    /** Spark's message wrapper releases the buffer itself, so the region owns nothing. */
    private final class Region extends AbstractFileRegion {
        private long transferred;

        @Override
        public long position() {
            return 0;
        }

        @Override
        public long transferred() {
            return transferred;
        }

        @Override
        public long count() {
            return size;
        }

        /** The part that holds {@code partStart}; Spark asks for positions in ascending order. */
        private int part;

        private long partStart;

        @Override
        public long transferTo(WritableByteChannel target, long position) throws IOException {
            if (position < partStart) {
                part = 0;
                partStart = 0;
            }
            while (part < parts.size()
                    && position >= partStart + parts.get(part).length()) {
                partStart += parts.get(part++).length();
            }
            if (part == parts.size()) {
                return 0;
            }
            FramePart current = parts.get(part);
            long skip = position - partStart;
            long written = current instanceof FramePart.Memory && current.length() - skip < GATHER_BYTES
                    ? target.write(gather(skip))
                    : current.transfer(target, skip, current.length() - skip);
            transferred += written;
            return written;
        }

        /** Copies what is left of a small part of memory and the small ones behind it, so that each does not cost a system call. */
        private ByteBuffer gather(long skip) {
            ByteBuffer bytes = ByteBuffer.allocate(GATHER_BYTES);
            long from = skip;
            for (int i = part;
                    i < parts.size()
                            && parts.get(i) instanceof FramePart.Memory memory
                            && memory.length() - from <= bytes.remaining();
                    i++) {
                bytes.put(memory.view(from));
                from = 0;
            }
            return bytes.flip();
        }

        @Override
        protected void deallocate() {}
    }

    /** All parts, one after the other. */
    private final class PartStream extends InputStream {
        private int next;
        private long left;
        private InputStream in = InputStream.nullInputStream();

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (length == 0) {
                return 0;
            }
            if (!advance()) {
                return -1;
            }
            int n = in.read(target, offset, (int) Math.min(length, left));
            if (n < 0) {
                throw new IOException("shuffle file ends early: missingBytes=" + left);
            }
            left -= n;
            return n;
        }

        @Override
        public long skip(long count) throws IOException {
            long done = 0;
            while (done < count) {
                if (left == 0 && !advance()) {
                    break;
                }
                long n = Math.min(left, count - done);
                in.skipNBytes(n);
                left -= n;
                done += n;
            }
            return done;
        }

        private boolean advance() throws IOException {
            while (left == 0) {
                if (next == parts.size()) {
                    return false;
                }
                in.close();
                FramePart part = parts.get(next++);
                in = part.open(0);
                left = part.length();
            }
            return true;
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
