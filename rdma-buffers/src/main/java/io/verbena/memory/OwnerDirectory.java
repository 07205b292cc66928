package io.verbena.memory;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The directory of one live process below a root that all processes of a user share.
 *
 * <pre>
 * root/                    mode 0700, named verbena-USER
 *   sweep.lock             held while directories are made or swept
 *   OWNER.RANDOM/          one per live owner
 *     owner.lock           held exclusively while the owner lives; the kernel frees it on kill -9
 *     ...                  segments and leases
 * </pre>
 *
 * <p>Making one sweeps the root first. A directory whose lock can be had belongs to a dead process. POSIX drops all of a
 * process's locks on a file when any of its descriptors on it is closed, so the lock file of a directory that this JVM owns is
 * never opened a second time: which are its own is seen from the files that it has open, which class loaders share and
 * applications cannot change.
 *
 * <p>Threads: any; root-level work is serialised by a JVM-wide monitor and the sweep lock, in this order.
 */
public final class OwnerDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OwnerDirectory.class);
    private static final String LOCK_NAME = "owner.lock";
    private static final String SWEEP_NAME = "sweep.lock";
    private static final String MONITOR_NAME = "io.verbena.memory.OwnerDirectory";
    private static final Path OPEN_FILES = Path.of("/proc/self/fd");
    private static final long SWEEP_WAIT_NS = TimeUnit.SECONDS.toNanos(30);
    private static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(5);

    private final Path path;
    private final FileChannel lockChannel;
    private final AtomicBoolean closed = new AtomicBoolean();

    private OwnerDirectory(Path path, FileChannel lockChannel) {
        this.path = path;
        this.lockChannel = lockChannel;
    }

    /**
     * Sweeps {@code root} and makes a directory in it.
     *
     * @param root made with mode 0700 if it is missing
     * @throws IOException if the root belongs to somebody else or is open to others, or the file system refuses
     */
    public static OwnerDirectory create(Path root, String ownerName) throws IOException {
        ensurePrivate(root);
        synchronized (monitor()) {
            try (FileChannel sweep = lockSweep(root)) {
                sweepLocked(root);
                Path path = root.resolve(clean(ownerName) + "." + randomName()).toAbsolutePath();
                Files.createDirectory(
                        path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
                FileChannel channel = FileChannel.open(
                        path.resolve(LOCK_NAME), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock();
                if (lock == null) {
                    channel.close();
                    throw new IOException("cannot lock a file made just now: file=" + path.resolve(LOCK_NAME)
                            + "; the file system does not support locks");
                }
                LOG.debug("made directory={} under {}", path, sweep);
                return new OwnerDirectory(path.toRealPath(), channel);
            }
        }
    }

    /**
     * Removes the directories of dead processes below {@code root}.
     *
     * @return the directories removed; empty if the root does not exist
     */
    static List<Path> sweep(Path root) throws IOException {
        if (!Files.isDirectory(root, LinkOption.NOFOLLOW_LINKS)) {
            return List.of();
        }
        synchronized (monitor()) {
            try (FileChannel sweep = lockSweep(root)) {
                LOG.debug("sweeping root={} under {}", root, sweep);
                return sweepLocked(root);
            }
        }
    }

    /** Returns where files of this process go. */
    public Path path() {
        return path;
    }

    /** Removes the directory with everything in it; idempotent. */
    @Override
    public void close() {
        if (closed.getAndSet(true)) {
            return;
        }
        try {
            removeTree(path);
        } catch (IOException e) {
            LOG.warn("cannot remove directory={}; the next start on this host will", path, e);
        }
        try {
            lockChannel.close();
        } catch (IOException e) {
            LOG.warn("cannot close the lock of directory={}", path, e);
        }
    }

    private static List<Path> sweepLocked(Path root) throws IOException {
        List<Path> removed = new ArrayList<>();
        Path realRoot = root.toRealPath();
        Set<Path> open = openFiles();
        try (DirectoryStream<Path> children = Files.newDirectoryStream(root, Files::isDirectory)) {
            for (Path child : children) {
                Path real = realRoot.resolve(child.getFileName());
                if (!open.contains(real.resolve(LOCK_NAME)) && removeIfDead(real)) {
                    removed.add(real);
                }
            }
        }
        if (!removed.isEmpty()) {
            LOG.info("removed what dead processes left: directories={}", removed);
        }
        return removed;
    }

    /** What this process has open now. A directory that it makes meanwhile is made under the monitor, so not during a sweep. */
    private static Set<Path> openFiles() throws IOException {
        Set<Path> open = new HashSet<>();
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(OPEN_FILES)) {
            for (Path descriptor : descriptors) {
                try {
                    open.add(Files.readSymbolicLink(descriptor));
                } catch (NoSuchFileException e) {
                    LOG.trace("closed meanwhile: {}", descriptor);
                }
            }
        }
        return open;
    }

    private static boolean removeIfDead(Path child) {
        try (FileChannel channel =
                FileChannel.open(child.resolve(LOCK_NAME), StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (channel.tryLock() == null) {
                return false;
            }
            removeTree(child);
            return true;
        } catch (OverlappingFileLockException e) {
            return false;
        } catch (NoSuchFileException e) {
            return removeUnlocked(child);
        } catch (IOException e) {
            LOG.warn("cannot remove what a dead process left: directory={}", child, e);
            return false;
        }
    }

    /** No lock file: its owner died between making the directory and the lock, or while removing it. */
    private static boolean removeUnlocked(Path child) {
        try {
            removeTree(child);
            return true;
        } catch (IOException e) {
            LOG.warn("cannot remove what a dead process left: directory={}", child, e);
            return false;
        }
    }

    /** The lock file goes last, so that an interrupted removal is finished by the next sweep. */
    private static void removeTree(Path directory) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                if (!file.endsWith(LOCK_NAME)) {
                    Files.deleteIfExists(file);
                }
            }
        } catch (NoSuchFileException e) {
            return;
        }
        Files.deleteIfExists(directory.resolve(LOCK_NAME));
        Files.deleteIfExists(directory);
    }

    private static FileChannel lockSweep(Path root) throws IOException {
        FileChannel channel = FileChannel.open(
                root.resolve(SWEEP_NAME),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS);
        long deadlineNs = System.nanoTime() + SWEEP_WAIT_NS;
        while (!tryLock(channel)) {
            if (System.nanoTime() - deadlineNs > 0) {
                channel.close();
                throw new IOException("cannot lock file=" + root.resolve(SWEEP_NAME) + " within waitedNs="
                        + SWEEP_WAIT_NS + "; find its holder with: fuser " + root.resolve(SWEEP_NAME));
            }
            LockSupport.parkNanos(RETRY_NS);
        }
        return channel;
    }

    private static boolean tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            return false;
        }
    }

    private static void ensurePrivate(Path root) throws IOException {
        try {
            Files.createDirectory(
                    root, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (FileAlreadyExistsException e) {
            LOG.debug("root={} exists", root);
        }
        String owner = Files.getOwner(root, LinkOption.NOFOLLOW_LINKS).getName();
        String mode = PosixFilePermissions.toString(Files.getPosixFilePermissions(root, LinkOption.NOFOLLOW_LINKS));
        Object rootUid = Files.getAttribute(root, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        Object ownUid = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        if (!Files.isDirectory(root, LinkOption.NOFOLLOW_LINKS)
                || !mode.equals("rwx------")
                || !rootUid.equals(ownUid)) {
            throw new IOException("directory=" + root + " is not private to this user: owner=" + owner + ", mode="
                    + mode + "; remove it or chmod 0700");
        }
    }

    /** Interned, so that it is one object for all class loaders. */
    private static Object monitor() {
        return MONITOR_NAME.intern();
    }

    private static String clean(String name) {
        return name.replaceAll("[^A-Za-z0-9._-]", "_");
    }

    private static String randomName() {
        byte[] bytes = new byte[6];
        new SecureRandom().nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
