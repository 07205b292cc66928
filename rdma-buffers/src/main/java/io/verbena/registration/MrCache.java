package io.verbena.registration;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.memory.Segment;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;

/**
 * Ranges of files, mapped and registered on demand so that peers can read the page cache. A lease keeps a range registered; what
 * is not leased stays until room is needed, and the least recently used goes first.
 *
 * <p>Ownership: close it before the registrar, when no peer reads. Threads: any. {@code registering} is taken before
 * {@code lock}; {@code lock} is never held across a call of the device or the file system.
 */
public final class MrCache implements AutoCloseable {
    /** Given up beyond what is needed, so that deregistration comes in batches: 1/8 of the budget. */
    private static final int EVICT_SHARE = 8;

    private final long budgetBytes;
    private final long pageBytes;
    private final FilePinner pinner;

    /** One range is mapped and registered at a time: the kernel's lock on the address space allows no more. */
    private final Object registering = new Object();

    private final Object lock = new Object();

    @GuardedBy("lock")
    private final RangeTable ranges;

    @GuardedBy("lock")
    private long hits;

    @GuardedBy("lock")
    private long refusals;

    @GuardedBy("lock")
    private boolean closed;

    /**
     * Creates an empty cache.
     *
     * @param budgetBytes most bytes registered at a time
     */
    public MrCache(FileRegistrar registrar, long budgetBytes) {
        this.pinner = new FilePinner(registrar);
        this.budgetBytes = budgetBytes;
        this.pageBytes = registrar.pageBytes();
        this.ranges = new RangeTable(pageBytes);
    }

    /**
     * Leases a range, registering it if it is not.
     *
     * @param offset of the first byte in the file
     * @param length in bytes, at least 1
     * @throws RegistrationException if the device refuses, the range is too long for one region, or leased ranges leave no room
     * @throws IOException if the file cannot be mapped
     */
    public FileLease acquire(Path file, long offset, long length) throws IOException, RegistrationException {
        BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
        if (offset < 0 || length < 1 || offset > attributes.size() - length) {
            throw new IOException("range is not in the file: file=" + file + ", sizeBytes=" + attributes.size()
                    + ", offset=" + offset + ", lengthBytes=" + length);
        }
        FileLease known = tryLease(file, attributes, offset, length);
        if (known != null) {
            return known;
        }
        synchronized (registering) {
            // Another thread may have been faster.
            known = tryLease(file, attributes, offset, length);
            return known != null ? known : registerOrCount(file, attributes, offset, length);
        }
    }

    private FileLease tryLease(Path file, BasicFileAttributes attributes, long offset, long length) {
        synchronized (lock) {
            MappedRange known = ranges.find(file, attributes.fileKey(), offset, offset + length);
            if (known == null) {
                return null;
            }
            hits++;
            ranges.lease(known);
            return new Lease(known, offset);
        }
    }

    @GuardedBy("registering")
    private FileLease registerOrCount(Path file, BasicFileAttributes attributes, long offset, long length)
            throws IOException, RegistrationException {
        boolean registered = false;
        try {
            FileLease lease = register(file, attributes, offset, length);
            registered = true;
            return lease;
        } finally {
            if (!registered) {
                synchronized (lock) {
                    refusals++;
                }
            }
        }
    }

    @GuardedBy("registering")
    private FileLease register(Path file, BasicFileAttributes attributes, long offset, long length)
            throws IOException, RegistrationException {
        long from = offset / pageBytes * pageBytes;
        long end = Math.min(attributes.size(), (offset + length + pageBytes - 1) / pageBytes * pageBytes);
        if (end - from > Segment.MAX_BYTES) {
            throw new RegistrationException("range is too long for one region: file=" + file + ", lengthBytes="
                    + (end - from) + ", atMost=" + Segment.MAX_BYTES);
        }
        List<MappedRange> replaced;
        synchronized (lock) {
            replaced = ranges.drop(file, attributes.fileKey());
        }
        giveBack(replaced);
        makeRoom(end - from);
        FilePinner.Pinned pinned = pinner.register(file, from, end - from);
        synchronized (lock) {
            MappedRange range = ranges.insert(file, attributes.fileKey(), from, pinned);
            ranges.lease(range);
            return new Lease(range, offset);
        }
    }

    /** Evicts nothing unless that makes enough room. */
    @GuardedBy("registering")
    private void makeRoom(long length) throws RegistrationException {
        List<MappedRange> victims = List.of();
        synchronized (lock) {
            long bytes = ranges.pages(length);
            if (closed) {
                throw new RegistrationException("the cache of mapped files is closed");
            }
            if (ranges.keptBytes() + bytes > budgetBytes) {
                throw new RegistrationException("no room for lengthBytes=" + bytes + ": leasedBytes="
                        + ranges.keptBytes() + " of budgetBytes=" + budgetBytes);
            }
            if (ranges.pinnedBytes() + bytes > budgetBytes) {
                victims = ranges.evictDownTo(budgetBytes - budgetBytes / EVICT_SHARE - bytes);
            }
        }
        giveBack(victims);
    }

    private final class Lease implements FileLease {
        private final MappedRange range;
        private final long address;

        @GuardedBy("MrCache.this.lock")
        private boolean ended;

        Lease(MappedRange range, long offset) {
            this.range = range;
            this.address = range.pinned.region().segment().address() + offset - range.offset;
        }

        @Override
        public MemoryRegion region() {
            return range.pinned.region();
        }

        @Override
        public long address() {
            return address;
        }

        @Override
        public void close() {
            boolean last;
            synchronized (lock) {
                if (ended) {
                    return;
                }
                ended = true;
                last = ranges.release(range);
            }
            if (last) {
                giveBack(List.of(range));
            }
        }
    }

    /** Gives up what is registered of a file: at once, or with the last lease. A file that is not here is ignored. */
    public void forget(Path file) {
        List<MappedRange> unused;
        synchronized (lock) {
            unused = ranges.drop(file, null);
        }
        giveBack(unused);
    }

    /** What a device keeps stays mapped, and counted as pinned. */
    private void giveBack(List<MappedRange> victims) {
        if (!victims.isEmpty()
                && pinner.giveBack(victims.stream().map(range -> range.pinned).toList())) {
            synchronized (lock) {
                ranges.givenBack(victims);
            }
        }
    }

    /** Returns what is registered now, for the descriptor. */
    public List<MemoryRegion> regions() {
        synchronized (lock) {
            return ranges.regions();
        }
    }

    /** Returns a snapshot. */
    public MrCacheStatistics statistics() {
        synchronized (lock) {
            return ranges.statistics(hits, refusals);
        }
    }

    /** Gives up what is not leased, and takes nothing new; what is leased goes with its last lease. */
    @Override
    public void close() {
        List<MappedRange> unused;
        // So that no registration is under way.
        synchronized (registering) {
            synchronized (lock) {
                closed = true;
                unused = ranges.dropAll();
            }
        }
        giveBack(unused);
    }
}
