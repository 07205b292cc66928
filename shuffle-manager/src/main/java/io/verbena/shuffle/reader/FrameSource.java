package io.verbena.shuffle.reader;

import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CheckedInputStream;
import java.util.zip.Checksum;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.util.LimitedInputStream;

/**
 * Blocks that came in a frame. A slice is copied to the heap and verified before it is handed out; one that is too large is read
 * twice instead, once to verify it and once to decode it (it lies in a file then, see spark.network.maxRemoteBlockSizeFetchToMem).
 *
 * <p>Ownership: takes over one reference to the buffer and gives it up in {@link #close}.
 */
final class FrameSource implements BlockSource {
    /** Above this a slice is not copied: a heap array of that size is a burden to the garbage collector. */
    private static final long MAX_COPY_BYTES = 64L << 20;

    private final MapRef ref;
    private final ManagedBuffer buffer;
    private final InputStream in;
    private final BlockFrame frame;
    private int next;
    private long position;
    private InputStream large;
    private boolean closed;

    /** Reads the head. If that fails the caller still owns the buffer. */
    FrameSource(MapRef ref, ManagedBuffer buffer) throws IOException {
        this.ref = ref;
        this.buffer = buffer;
        this.in = buffer.createInputStream();
        this.frame = BlockFrame.decode(in, ref.startReduceId(), ref.endReduceId());
        this.position = frame.headLength();
        long total = position;
        for (BlockFrame.Entry entry : frame.entries()) {
            total += entry.length();
        }
        if (total != buffer.size()) {
            throw new CorruptMetadataException(
                    "block frame is cut or padded: sizeBytes=" + buffer.size() + ", announcedBytes=" + total);
        }
    }

    /** Bytes of all slices. */
    long bytes() {
        return buffer.size() - frame.headLength();
    }

    @Override
    public MapRef ref() {
        return ref;
    }

    @Override
    public BlockLayout layout() {
        return frame.layout();
    }

    @Override
    public Slice next() throws IOException {
        if (next == frame.entries().size()) {
            return null;
        }
        BlockFrame.Entry entry = frame.entries().get(next++);
        long length = entry.length();
        Checksum checksum = frame.checksumKind().newChecksum();
        Slice slice;
        // Rows are pointed at, so they need memory; a run of rows is never longer than a segment.
        if (length <= MAX_COPY_BYTES || frame.layout() == BlockLayout.ROWS) {
            byte[] bytes = new byte[(int) length];
            if (in.readNBytes(bytes, 0, bytes.length) != bytes.length) {
                throw new EOFException("block frame ends within a slice: lengthBytes=" + length);
            }
            if (checksum != null) {
                checksum.update(bytes, 0, bytes.length);
            }
            slice = new Slice(bytes, OffHeap.BYTE_ARRAY_OFFSET, length, entry.reduceId(), null);
        } else {
            if (checksum != null) {
                try (InputStream check = new CheckedInputStream(openAt(position, length), checksum)) {
                    check.transferTo(java.io.OutputStream.nullOutputStream());
                }
            }
            in.skipNBytes(length);
            large = openAt(position, length);
            slice = new Slice(null, 0, length, entry.reduceId(), large);
        }
        if (checksum != null && checksum.getValue() != entry.checksum()) {
            throw new CorruptMetadataException(
                    "block fails its checksum: reduceId=" + entry.reduceId() + ", lengthBytes=" + length
                            + ", algorithm=" + frame.checksumKind() + ", got=0x" + Long.toHexString(checksum.getValue())
                            + ", expected=0x"
                            + Long.toHexString(entry.checksum()));
        }
        position += length;
        return slice;
    }

    private InputStream openAt(long offset, long length) throws IOException {
        InputStream again = buffer.createInputStream();
        again.skipNBytes(offset);
        return new LimitedInputStream(again, length);
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            in.close();
            if (large != null) {
                large.close();
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } finally {
            buffer.release();
        }
    }
}
