package io.verbena.memory;

import io.verbena.memory.FileBacking.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Chooses where segments come from: hugetlbfs, then shared memory, then plain memory. Threads: stateless. */
public final class Backings {
    private static final Logger LOG = LoggerFactory.getLogger(Backings.class);
    private static final Path SHMEM_ENABLED = Path.of("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    private static final long SMALL_PAGE_BYTES = 4096;

    private Backings() {}

    /**
     * Returns the best backing that works here; it falls down the chain when it is exhausted. One log line says which it is, and
     * why the better ones are not used.
     *
     * @throws IllegalArgumentException if the kind is unknown or the segment size is not possible
     */
    public static SegmentBacking choose(BackingOptions options) {
        FileBacking.checkSize(options.segmentBytes(), SMALL_PAGE_BYTES);
        List<String> kinds =
                switch (options.kind()) {
                    case "auto", "hugetlbfs" -> List.of("hugetlbfs", "shm", "plain");
                    case "shm" -> List.of("shm", "plain");
                    case "plain" -> List.of("plain");
                    default ->
                        throw new IllegalArgumentException(
                                "kind=" + options.kind() + " is not one of auto, hugetlbfs, shm, plain");
                };
        List<SegmentBacking> chain = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        for (String kind : kinds) {
            try {
                chain.add(open(kind, options, notes));
            } catch (IOException | RuntimeException e) {
                notes.add("no " + kind + ": " + e.getMessage());
            }
        }
        SegmentBacking backing = new ChainedBacking(chain);
        String message = String.format(
                Locale.ROOT,
                "segments come from %s: segmentBytes=%d, directory=%s%s",
                backing.name(),
                options.segmentBytes(),
                backing.ownerDirectory(),
                notes.isEmpty() ? "" : "; " + String.join("; ", notes));
        // Nobody can map plain memory, so it is nothing that "auto" would wish for.
        boolean asWished = options.kind().equals(backing.name())
                || (options.kind().equals("auto") && backing.ownerDirectory() != null);
        if (asWished) {
            LOG.info(message);
        } else {
            LOG.warn(message);
        }
        return backing;
    }

    /**
     * Removes what dead processes left below {@code root} (a directory that holds owner directories); returns the directories
     * removed. Starting a backing does this as well.
     *
     * @throws IOException if the root cannot be read or its sweep lock is not free within 30 seconds
     */
    public static List<Path> sweep(Path root) throws IOException {
        return OwnerDirectory.sweep(root);
    }

    private static SegmentBacking open(String kind, BackingOptions options, List<String> notes) throws IOException {
        return switch (kind) {
            case "hugetlbfs" -> openHugetlbfs(options);
            case "shm" -> openShm(options, notes);
            default -> new PlainBacking();
        };
    }

    private static SegmentBacking openHugetlbfs(BackingOptions options) throws IOException {
        HugePages pages = HugePages.find(options.hugetlbfsDirectory());
        pages.requireRoomFor(options.segmentBytes());
        OwnerDirectory directory = OwnerDirectory.create(rootIn(pages.mount()), options.ownerName());
        return new FileBacking(Kind.HUGETLBFS, pages.pageBytes(), directory);
    }

    private static SegmentBacking openShm(BackingOptions options, List<String> notes) throws IOException {
        Path mount = options.shmDirectory();
        if (mount == null || !Files.isDirectory(mount)) {
            throw new BackingException("directory=" + mount + " does not exist");
        }
        String type = Files.getFileStore(mount).type();
        if (!type.equals("tmpfs")) {
            throw new BackingException("directory=" + mount + " is on " + type + ", not on tmpfs; name a tmpfs mount");
        }
        long usable = FileBacking.usableBytes(mount);
        // With room for one segment only, nearly all memory would be plain anyway and other users would find the mount
        // full.
        if (usable < 2 * options.segmentBytes()) {
            throw new BackingException("too small: directory=" + mount + ", usableBytes=" + usable + ", neededBytes="
                    + 2 * options.segmentBytes() + " (two segments); " + Kind.SHM.remedy);
        }
        OwnerDirectory directory = OwnerDirectory.create(rootIn(mount), options.ownerName());
        notes.add("huge pages in shm: " + shmemHugePages());
        return new FileBacking(Kind.SHM, SMALL_PAGE_BYTES, directory);
    }

    /** Says whether shared memory gets transparent huge pages without advice, which needs native code to give. */
    private static String shmemHugePages() {
        try {
            String modes = Files.readString(SHMEM_ENABLED).strip();
            String mode = modes.replaceAll(".*\\[(.*)\\].*", "$1");
            boolean given = mode.equals("always") || mode.equals("within_size") || mode.equals("force");
            return given
                    ? "yes (shmem_enabled=" + mode + ")"
                    : "no (shmem_enabled=" + mode + "; to have them: echo within_size > " + SHMEM_ENABLED + ")";
        } catch (IOException e) {
            return "unknown (" + e.getMessage() + ")";
        }
    }

    private static Path rootIn(Path mount) {
        String user = System.getProperty("user.name", "unknown").replaceAll("[^A-Za-z0-9._-]", "_");
        return mount.resolve("verbena-" + user);
    }
}
