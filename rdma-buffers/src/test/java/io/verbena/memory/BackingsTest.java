package io.verbena.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.verbena.testing.Tmpfs;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class BackingsTest {
    private static final long MIB = 1 << 20;
    private static final Path LOCKS = Path.of("/proc/locks");

    /** Returns what the call logs; slf4j-simple asks for the standard error stream at every line. */
    private static String logOf(Callable<?> call) throws Exception {
        PrintStream before = System.err;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            call.call();
        } finally {
            System.setErr(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    private static void assumeRoot() throws Exception {
        if (!Tmpfs.canMount()) {
            System.err.println("skipped: only root can mount a small tmpfs");
        }
        assumeTrue(Tmpfs.canMount(), "only root can mount a small tmpfs");
    }

    @ParameterizedTest
    @ValueSource(strings = {"shm", "auto"})
    void shouldUsePlainMemoryWithARemedyWhenShmIsAsSmallAsDockersDefault(String kind) throws Exception {
        assumeRoot();
        try (Tmpfs shm = Tmpfs.mount("tmpfs", "size=64m")) {
            BackingOptions options = new BackingOptions(kind, shm.path(), Path.of("/nowhere"), "app", 64 * MIB);
            String log = logOf(() -> {
                try (SegmentBacking backing = Backings.choose(options)) {
                    assertThat(backing.name()).isEqualTo("plain");
                    assertThat(backing.ownerDirectory()).isNull();
                    assertThat(backing.allocate(1, 64 * MIB).file()).isNull();
                }
                return null;
            });
            assertThat(log.lines()).hasSize(1);
            assertThat(log).contains("WARN", "segments come from plain", "no shm: too small", "--shm-size");
        }
    }

    @Test
    void shouldFallToPlainMemoryOnceWhenShmFills() throws Exception {
        assumeRoot();
        try (Tmpfs shm = Tmpfs.mount("tmpfs", "size=64m");
                SegmentBacking backing =
                        Backings.choose(new BackingOptions("auto", shm.path(), Path.of("/nowhere"), "app", 24 * MIB))) {
            Segment first = backing.allocate(1, 24 * MIB);
            Segment second = backing.allocate(2, 24 * MIB);
            String log = logOf(() -> {
                Segment third = backing.allocate(3, 24 * MIB);
                assertThat(third.file()).isNull();
                OffHeap.zero(third.address(), third.length());
                assertThat(backing.allocate(4, 24 * MIB).file()).isNull();
                return null;
            });
            assertThat(log.lines()).hasSize(1);
            assertThat(log)
                    .contains("from plain instead of shm", "No space left on device", "spark.shuffle.rdma.memory.size");
            assertThat(backing.name()).isEqualTo("plain");
            assertThat(first.file().path()).exists();
            assertThat(second.file().path()).exists();
            assertThat(backing.ownerDirectory().resolve("segment-3")).doesNotExist();
            // Memory that was reserved is there for good: no store into it can fail now.
            OffHeap.zero(first.address(), first.length());
            OffHeap.zero(second.address(), second.length());
            backing.free(first);
            assertThat(first.file().path()).doesNotExist();
        }
    }

    @Test
    void shouldSayWhyBetterBackingsAreNotUsed() throws Exception {
        try (Tmpfs shm = Tmpfs.directory()) {
            BackingOptions options = new BackingOptions("auto", shm.path(), Path.of("/nowhere"), "app", MIB);
            String log = logOf(() -> {
                try (SegmentBacking backing = Backings.choose(options)) {
                    assertThat(backing.name()).isEqualTo("shm");
                }
                return null;
            });
            assertThat(log.lines()).hasSize(1);
            assertThat(log)
                    .contains("INFO", "segments come from shm", "no hugetlbfs: directory=/nowhere", "shmem_enabled=");
        }
    }

    @Test
    void shouldRefuseADiskAsSharedMemory() throws Exception {
        Path disk = Files.createTempDirectory(Path.of("target").toAbsolutePath(), "disk");
        try (SegmentBacking backing = Backings.choose(new BackingOptions("shm", disk, null, "app", MIB))) {
            assertThat(backing.name()).isEqualTo("plain");
        }
        assertThat(disk).isEmptyDirectory();
    }

    @Test
    void shouldRefuseARootThatIsOpenToOthers() throws Exception {
        try (Tmpfs shm = Tmpfs.directory()) {
            Path root = Files.createDirectory(shm.path().resolve("verbena-" + System.getProperty("user.name")));
            Files.setPosixFilePermissions(root, java.nio.file.attribute.PosixFilePermissions.fromString("rwxrwxrwx"));
            try (SegmentBacking backing = Backings.choose(new BackingOptions("shm", shm.path(), null, "app", MIB))) {
                assertThat(backing.name()).isEqualTo("plain");
            }
        }
    }

    @Test
    void shouldRefuseUnknownKinds() {
        assertThatThrownBy(() -> Backings.choose(new BackingOptions("gpu", Path.of("/dev/shm"), null, "app", MIB)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("kind=gpu");
    }

    @Test
    void shouldSweepWhatHasNoLivingOwnerAndNothingElse() throws Exception {
        try (Tmpfs shm = Tmpfs.directory()) {
            try (SegmentBacking first = Backings.choose(new BackingOptions("shm", shm.path(), null, "one", MIB));
                    SegmentBacking second = Backings.choose(new BackingOptions("shm", shm.path(), null, "two", MIB))) {
                Path root = first.ownerDirectory().getParent();
                Path dead = Files.createDirectory(root.resolve("dead.1"));
                Files.createFile(dead.resolve("owner.lock"));
                Files.createFile(dead.resolve("segment-7"));
                Path unlocked = Files.createDirectory(root.resolve("dead.2"));
                assertThat(Backings.sweep(root)).containsExactlyInAnyOrder(dead, unlocked);
                assertThat(dead).doesNotExist();
                assertThat(first.ownerDirectory()).exists();
                assertThat(second.ownerDirectory()).exists();
                assertThat(Backings.sweep(root)).isEmpty();
            }
            assertThat(Backings.sweep(shm.path().resolve("missing"))).isEmpty();
        }
    }

    /** As Spark's tests do, and applications may. */
    @Test
    void shouldKnowItsOwnDirectoriesAfterTheSystemPropertiesWereReplaced() throws Exception {
        Properties before = System.getProperties();
        Properties copy = new Properties();
        copy.putAll(before);
        try (Tmpfs shm = Tmpfs.directory()) {
            SegmentBacking first = Backings.choose(new BackingOptions("shm", shm.path(), null, "one", MIB));
            String lock = lockOf(first.ownerDirectory());
            System.setProperties(copy);
            try (SegmentBacking second = Backings.choose(new BackingOptions("shm", shm.path(), null, "two", MIB))) {
                assertThat(Files.readString(LOCKS)).contains(lock, lockOf(second.ownerDirectory()));
                first.close();
                assertThat(first.ownerDirectory()).doesNotExist();
                assertThat(second.ownerDirectory()).exists();
            }
        } finally {
            System.setProperties(before);
        }
    }

    /** What {@link #LOCKS} shows of the lock of a directory that this process owns. */
    private static String lockOf(Path directory) throws IOException {
        long inode = FileBacking.attribute(directory.resolve("owner.lock"), "unix:ino");
        String lock = ":" + inode + " 0 ";
        assertThat(Files.readString(LOCKS)).contains(lock);
        return lock;
    }
}
