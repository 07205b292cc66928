package io.verbena.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Segments as files on tmpfs or hugetlbfs, one file each, so that a neighbour can map them.
 *
 * <p>Reservation: truncate and map only set the size, and a store into a page that cannot be had is a SIGBUS. So on tmpfs the
 * pages are written through the channel first, where a full file system is an IOException. hugetlbfs has no write, but there
 * mmap reserves all huge pages of a shared mapping or fails (kernel documentation, mm/hugetlbfs_reserv).
 * <p>Threads: any; guarded by this, not held while memory is reserved.
 */
final class FileBacking implements SegmentBacking {
    private static final Logger LOG = LoggerFactory.getLogger(FileBacking.class);
    private static final int ZEROS_BYTES = 1 << 20;

    /** What differs between the two file systems. */
    enum Kind {
        SHM("shm", true, "raise --shm-size, or the size of the tmpfs mount (mount -o remount,size=...)"),
        HUGETLBFS("hugetlbfs", false, "raise the huge page pool (sysctl vm.nr_hugepages=...)");

        final String label;
        final boolean writable;
        final String remedy;

        Kind(String label, boolean writable, String remedy) {
            this.label = label;
            this.writable = writable;
            this.remedy = remedy + " or lower spark.shuffle.rdma.memory.size";
        }
    }

    private final Kind kind;
    private final long pageBytes;
    private final OwnerDirectory directory;

    @GuardedBy("this")
    private final Map<Integer, Segment> live = new HashMap<>();

    FileBacking(Kind kind, long pageBytes, OwnerDirectory directory) {
        this.kind = kind;
        this.pageBytes = pageBytes;
        this.directory = directory;
    }

    static void checkSize(long bytes, long pageBytes) {
        if (bytes <= 0 || bytes > Segment.MAX_BYTES || bytes % pageBytes != 0) {
            throw new IllegalArgumentException("segmentBytes=" + bytes + " is not a positive multiple of pageBytes="
                    + pageBytes + " up to " + Segment.MAX_BYTES);
        }
    }

    @Override
    public String name() {
        return kind.label;
    }

    @Override
    public Segment allocate(int id, long bytes) throws BackingException {
        checkSize(bytes, pageBytes);
        Path path = directory.path().resolve("segment-" + id);
        try (FileChannel channel = FileChannel.open(
                path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            if (kind.writable) {
                reserve(channel, bytes);
            }
            MappedByteBuffer mapped = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
            mapped.load();
            SegmentFile file = new SegmentFile(path, attribute(path, "unix:dev"), attribute(path, "unix:ino"));
            Segment segment = new Segment(id, mapped, file, this, 0);
            synchronized (this) {
                live.put(id, segment);
            }
            return segment;
        } catch (IOException | OutOfMemoryError e) {
            deleteQuietly(path);
            throw new BackingException(
                    "cannot reserve a " + kind.label + " segment: file=" + path + ", segmentBytes=" + bytes
                            + ", usableBytes=" + usableBytes(directory.path()) + ", cause=" + e.getMessage() + "; "
                            + kind.remedy,
                    e);
        }
    }

    /** Writes zeros over the whole length; a full tmpfs is an IOException here and a SIGBUS anywhere later. */
    private static void reserve(FileChannel channel, long bytes) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(ZEROS_BYTES, bytes));
        long written = 0;
        while (written < bytes) {
            zeros.clear().limit((int) Math.min(zeros.capacity(), bytes - written));
            written += channel.write(zeros, written);
        }
    }

    @Override
    public synchronized void free(Segment segment) {
        if (!live.remove(segment.id(), segment)) {
            throw new IllegalStateException("cannot free: not allocated here or freed before; " + segment);
        }
        deleteQuietly(segment.file().path());
        OffHeap.unmap(segment.whole());
    }

    @Override
    public Path ownerDirectory() {
        return directory.path();
    }

    @Override
    public void close() {
        synchronized (this) {
            for (Segment segment : List.copyOf(live.values())) {
                free(segment);
            }
        }
        directory.close();
    }

    static long attribute(Path path, String name) throws IOException {
        return ((Number) Files.getAttribute(path, name)).longValue();
    }

    static long usableBytes(Path path) {
        try {
            return Files.getFileStore(path).getUsableSpace();
        } catch (IOException e) {
            LOG.debug("cannot ask for the usable space of {}", path, e);
            return 0;
        }
    }

    private static void deleteQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.warn("cannot delete segment file={}; its memory is lost until the directory is removed", path, e);
        }
    }
}
