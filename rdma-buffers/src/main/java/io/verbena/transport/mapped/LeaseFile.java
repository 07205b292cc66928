package io.verbena.transport.mapped;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.memory.SegmentFile;
import io.verbena.transport.CountedLease;
import io.verbena.transport.ReadLease;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases as kernel locks on single bytes of an empty file of the owner's.
 *
 * <pre>
 * byte 0 .. 2^32-1   one per key: readers lock it shared, the owner asks by trying it exclusively
 * byte 2^40          locked exclusively by the owner while it lives
 * </pre>
 *
 * <p>The kernel drops the locks of a process that dies, so a lease needs no time to live, and a process that is merely stopped
 * keeps its leases. POSIX also drops all locks of a process on a file when it closes any descriptor of it; so a process has one
 * object per file (by device and inode) with one channel, counted, and closed by the last user.
 * <p>Leases within the owner's own process are counted only: nobody else asks for them.
 * <p>Threads: any; counts and locks are guarded by this, the table of open files by itself. Order: table, then file. No lock call
 * waits.
 */
final class LeaseFile {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseFile.class);
    private static final long OWNER_BYTE = 1L << 40;
    private static final Map<SegmentFile, LeaseFile> OPEN = new HashMap<>();

    /** @param lock null within the owner's process */
    private record Holders(int count, FileLock lock) {}

    private final SegmentFile file;
    private final FileChannel channel;
    private final boolean owned;

    @GuardedBy("OPEN")
    private int users = 1;

    @GuardedBy("this")
    private final Map<Integer, Holders> held = new HashMap<>();

    /** The owner's own lock; null in other processes and after the owner has closed. */
    @GuardedBy("this")
    private FileLock ownerLock;

    @GuardedBy("this")
    private boolean ownerGone;

    private LeaseFile(SegmentFile file, FileChannel channel, boolean owned) {
        this.file = file;
        this.channel = channel;
        this.owned = owned;
    }

    /**
     * Makes the file of a new endpoint.
     *
     * @throws IOException if it exists or the file system has no locks
     */
    static LeaseFile create(Path path) throws IOException {
        synchronized (OPEN) {
            FileChannel channel = FileChannel.open(
                    path, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE);
            LeaseFile made = new LeaseFile(identify(path), channel, true);
            FileLock lock = channel.tryLock(OWNER_BYTE, 1, false);
            if (lock == null) {
                channel.close();
                throw new IOException(
                        "cannot lock a file made just now: file=" + path + "; the file system does not support locks");
            }
            made.setOwnerLock(lock);
            OPEN.put(made.file, made);
            return made;
        }
    }

    /**
     * Opens a peer's file.
     *
     * @throws IOException if the path does not lead to that file: the peer is not a neighbour, or is gone
     */
    static LeaseFile open(SegmentFile file) throws IOException {
        synchronized (OPEN) {
            LeaseFile known = OPEN.get(file);
            if (known != null) {
                known.users++;
                return known;
            }
            verify(file);
            LeaseFile opened = new LeaseFile(
                    file, FileChannel.open(file.path(), StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS), false);
            OPEN.put(file, opened);
            return opened;
        }
    }

    /** Throws unless this process sees the same file under the same path. */
    static void verify(SegmentFile file) throws IOException {
        SegmentFile seen = identify(file.path());
        if (!seen.equals(file)) {
            throw new IOException("not the same file: path=" + file.path() + ", device=" + seen.device() + ", inode="
                    + seen.inode() + ", expectedDevice=" + file.device() + ", expectedInode=" + file.inode());
        }
    }

    private static SegmentFile identify(Path path) throws IOException {
        Map<String, Object> attributes = Files.readAttributes(path, "unix:dev,ino", LinkOption.NOFOLLOW_LINKS);
        return new SegmentFile(
                path, ((Number) attributes.get("dev")).longValue(), ((Number) attributes.get("ino")).longValue());
    }

    SegmentFile file() {
        return file;
    }

    /** Returns a lease, or null while the owner is looking at that byte: try again soon. */
    synchronized ReadLease tryHold(int key) throws IOException {
        Holders holders = held.get(key);
        if (holders == null) {
            FileLock lock = owned ? null : channel.tryLock(Integer.toUnsignedLong(key), 1, true);
            if (lock == null && !owned) {
                return null;
            }
            held.put(key, new Holders(1, lock));
        } else {
            held.put(key, new Holders(holders.count() + 1, holders.lock()));
        }
        return new CountedLease(key, () -> release(key));
    }

    private synchronized void release(int key) {
        Holders holders = held.get(key);
        if (holders.count() > 1) {
            held.put(key, new Holders(holders.count() - 1, holders.lock()));
            return;
        }
        held.remove(key);
        try {
            if (holders.lock() != null && holders.lock().isValid()) {
                holders.lock().release();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot unlock key=" + key + " of file=" + file.path(), e);
        }
    }

    /** Owner: returns whether nobody holds the key now. */
    synchronized boolean isUnread(int key) {
        if (held.containsKey(key)) {
            return false;
        }
        try (FileLock lock = channel.tryLock(Integer.toUnsignedLong(key), 1, false)) {
            return lock != null;
        } catch (OverlappingFileLockException e) {
            // A reader in this JVM that was loaded by another class loader.
            return false;
        } catch (IOException e) {
            LOG.warn("cannot ask for the readers of key={} in file={}; taken as read", key, file.path(), e);
            return false;
        }
    }

    /** Returns false once the owner has closed or died. */
    synchronized boolean isOwnerAlive() {
        if (owned) {
            return ownerLock != null;
        }
        if (ownerGone) {
            return false;
        }
        try (FileLock lock = channel.tryLock(OWNER_BYTE, 1, true)) {
            ownerGone = lock != null;
        } catch (OverlappingFileLockException e) {
            // The owner is in this JVM, loaded by another class loader.
            return true;
        } catch (IOException e) {
            LOG.warn("cannot ask for the owner of file={}; taken as gone", file.path(), e);
            ownerGone = true;
        }
        return !ownerGone;
    }

    private synchronized void setOwnerLock(FileLock lock) {
        ownerLock = lock;
    }

    /** Owner: tells peers that it is gone, removes the file and gives up this user's share. */
    void closeOwner() {
        synchronized (this) {
            try {
                Files.deleteIfExists(file.path());
                ownerLock.release();
            } catch (IOException e) {
                LOG.warn("cannot remove lease file={}; the next start on this host will", file.path(), e);
            }
            ownerLock = null;
        }
        close();
    }

    /** Gives up one user's share; the last closes the channel, and with it drops all locks. */
    void close() {
        synchronized (OPEN) {
            users--;
            if (users > 0) {
                return;
            }
            OPEN.remove(file, this);
            try {
                channel.close();
            } catch (IOException e) {
                LOG.warn("cannot close lease file={}", file.path(), e);
            }
        }
    }
}
