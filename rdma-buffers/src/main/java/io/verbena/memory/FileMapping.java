package io.verbena.memory;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A range of a file that others own, mapped shared so that a device can read the page cache itself. Nothing here writes to it.
 *
 * <p>The file may be unlinked while it is mapped, but must not be cut: a page behind the end is a SIGBUS.
 * <p>Ownership: closing unmaps; the segment is dead after that. Threads: immutable, close once.
 */
public final class FileMapping implements AutoCloseable {
    /** Below zero, so that none meets the ordinal of allocated memory. */
    private static final AtomicInteger NEXT_ID = new AtomicInteger(-1);

    private final Segment segment;

    private FileMapping(Segment segment) {
        this.segment = segment;
    }

    /**
     * Maps a range and touches its pages: a device takes pages that are there far faster than it can have them brought.
     *
     * @param offset of the first byte in the file
     * @param length in bytes, 1 to {@link Segment#MAX_BYTES}
     * @param writable asks for a mapping that could be written; some kernels pin no other
     * @throws IOException if the file cannot be opened so, or ends before the range does
     */
    public static FileMapping open(Path file, long offset, long length, boolean writable) throws IOException {
        if (offset < 0 || length < 1 || length > Segment.MAX_BYTES) {
            throw new IllegalArgumentException(
                    "cannot map offset=" + offset + ", lengthBytes=" + length + ", atMost=" + Segment.MAX_BYTES);
        }
        Set<OpenOption> options =
                writable ? Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE) : Set.of(StandardOpenOption.READ);
        try (FileChannel channel = FileChannel.open(file, options)) {
            if (channel.size() < offset + length) {
                // Else a writable mapping would make the file longer.
                throw new IOException("file ends before the range: file=" + file + ", sizeBytes=" + channel.size()
                        + ", offset=" + offset + ", lengthBytes=" + length);
            }
            MappedByteBuffer mapped = channel.map(
                    writable ? FileChannel.MapMode.READ_WRITE : FileChannel.MapMode.READ_ONLY, offset, length);
            mapped.load();
            return new FileMapping(new Segment(NEXT_ID.getAndDecrement(), mapped, null, null, 0));
        } catch (OutOfMemoryError e) {
            throw new IOException(
                    "cannot map file=" + file + ", lengthBytes=" + length + ": " + e.getMessage()
                            + "; the process has too many mappings (vm.max_map_count) or no address space left",
                    e);
        }
    }

    /** Returns the memory; its id is negative and never used again. */
    public Segment segment() {
        return segment;
    }

    @Override
    public void close() {
        OffHeap.unmap(segment.whole());
    }
}
