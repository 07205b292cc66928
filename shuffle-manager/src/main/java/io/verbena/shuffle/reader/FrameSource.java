package io.verbena.shuffle.reader;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufInputStream;
import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CheckedInputStream;
import java.util.zip.Checksum;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NettyManagedBuffer;
import org.apache.spark.network.util.LimitedInputStream;

/**
 * Blocks that came in a frame. A slice is copied to the heap and verified before it is handed out; one that is too large is read
 * twice instead, once to verify it and once to decode it (it lies in a file then, see spark.network.maxRemoteBlockSizeFetchToMem).
 *
 * <p>Ownership: takes over one reference to the buffer and gives it up in {@link #close}.
 * <p>Threads: one reads; another may close it meanwhile, and waits for the slice that is being copied.
 */
final class FrameSource implements BlockSource {
    /** Above this a slice is not copied: a heap array of that size is a burden to the garbage collector. */
    private static final long MAX_COPY_BYTES = 64L << 20;

    private final MapRef ref;
    private final ManagedBuffer buffer;
    private final List<InputStream> streams = new ArrayList<>();
    private final InputStream in;
    private final long size;
    private final BlockFrame frame;
    private int next;
    private long position;
    private boolean closed;

    /** Reads the head. If that fails the caller still owns the buffer. */
    FrameSource(MapRef ref, ManagedBuffer buffer) throws IOException {
        this.ref = ref;
        this.buffer = buffer;
        this.size = buffer.size();
        this.in = open(0);
        try {
            this.frame = decode();
        } catch (IOException | RuntimeException e) {
            in.close();
            throw e;
        }
        this.position = frame.headLength();
    }

    private BlockFrame decode() throws IOException {
        BlockFrame head = BlockFrame.decode(in, ref.startReduceId(), ref.endReduceId());
        long total = head.headLength();
        for (BlockFrame.Entry entry : head.entries()) {
            total += entry.length();
        }
        if (total != size) {
            throw new CorruptMetadataException(
                    "block frame is cut or padded: sizeBytes=" + size + ", announcedBytes=" + total);
        }
        return head;
    }

    /** Opens the frame from an offset on. */
    private InputStream open(long offset) throws IOException {
        // A stream from a Netty buffer itself moves the buffer's own reader index: its size shrinks, and a second
        // stream begins
        // where the first one is. A duplicate has an index of its own.
        InputStream stream = buffer instanceof NettyManagedBuffer
                ? new ByteBufInputStream((ByteBuf) buffer.convertToNetty(), true)
                : buffer.createInputStream();
        stream.skipNBytes(offset);
        return stream;
    }

    /** Bytes of all slices. */
    long bytes() {
        return size - frame.headLength();
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
    public synchronized Slice next() throws IOException {
        if (next == frame.entries().size()) {
            return null;
        }
        if (closed) {
            throw new IllegalStateException(
                    "blocks of map output " + ref.mapId() + " are read after the end of the task");
        }
        BlockFrame.Entry entry = frame.entries().get(next++);
        long length = entry.length();
        Checksum checksum = frame.checksumKind().newChecksum();
        Slice slice;
        if (length <= MAX_COPY_BYTES || frame.layout().isAddressed()) {
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
            InputStream large = openAt(position, length);
            streams.add(large);
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
        return new LimitedInputStream(open(offset), length);
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            in.close();
            for (InputStream stream : streams) {
                stream.close();
            }
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        } finally {
            buffer.release();
        }
    }
}
