package io.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.testing.Tmpfs;
import io.verbena.verbs.VerbsLibraryOptions.Source;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;

class VerbsLibraryTest {
    private static final VerbsLibraryOptions BUNDLED = VerbsLibraryOptions.of(Source.BUNDLED);
    private static final String OTHER_ARCH =
            ExtractedLibraries.resourceFolder().endsWith("aarch64") ? "linux-amd64" : "linux-aarch64";

    @TempDir
    Path directory;

    @Test
    void shouldReplaceMemoryUtilsAndKeepNoFile() throws Exception {
        VerbsLibrary library = VerbsLibrary.open(BUNDLED.withOnlyDirectories(List.of(directory)));

        // DiSNI's own class would need --add-exports java.base/sun.nio.ch, which this JVM may have: ours has a private
        // constructor.
        Class<?> type = Class.forName("com.ibm.disni.util.MemoryUtils", true, library.classLoader());
        ByteBuffer buffer = ByteBuffer.allocateDirect(64);
        long address = (long) type.getMethod("getAddress", ByteBuffer.class).invoke(null, buffer);
        long slice = (long) type.getMethod("getAddress", ByteBuffer.class).invoke(null, buffer.slice(16, 16));
        assertThat(slice).isEqualTo(address + 16);
        assertThat(type.getDeclaredConstructors()[0].toString()).startsWith("private");
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void shouldNotLogAtInfoForDisni() throws Exception {
        ClassLoader loader = VerbsLibrary.open(BUNDLED).classLoader();
        Class<?> type = Class.forName("com.ibm.disni.util.DiSNILogger", true, loader);
        Logger logger = (Logger) type.getMethod("getLogger").invoke(null);
        PrintStream before = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setErr(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            logger.info("each object");
            logger.warn("a {}", "warning");
        } finally {
            System.setErr(before);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .contains("WARN com.ibm.disni - a warning")
                .doesNotContain("each object");
    }

    /** So an application's own DiSNI, of whatever version, is not mixed with it. */
    @Test
    void shouldTakeAllOfDisniFromItsOwnFolder() throws Exception {
        ClassLoader loader = VerbsLibrary.open(BUNDLED).classLoader();
        URL folder = VerbsLibrary.class.getClassLoader().getResource("native/classes");
        assertThat(folder).isNotNull();
        int count = 0;
        try (Stream<Path> files = Files.walk(Path.of(folder.toURI()))) {
            for (Path file :
                    (Iterable<Path>) files.filter(path -> path.toString().endsWith(".class"))::iterator) {
                String name = Path.of(folder.toURI()).relativize(file).toString();
                Class<?> type = Class.forName(name.replace(".class", "").replace('/', '.'), true, loader);
                assertThat(type.getClassLoader()).isSameAs(loader);
                assertThat(type.getDeclaredMethods()).isNotNull();
                count++;
            }
        }
        assertThat(count).isGreaterThan(60);
    }

    @Test
    void shouldGiveEachOpenerItsOwnCopy() throws Exception {
        Class<?> first = nativeClass(VerbsLibrary.open(BUNDLED));
        Class<?> second = nativeClass(VerbsLibrary.open(BUNDLED));
        assertThat(first).isNotSameAs(second);
        assertThat(pageSize(first)).isEqualTo(pageSize(second)).isPositive();
    }

    private static Class<?> nativeClass(VerbsLibrary library) throws ClassNotFoundException {
        return Class.forName("io.verbena.verbs.bound.VerbsNative", true, library.classLoader());
    }

    private static long pageSize(Class<?> type) throws ReflectiveOperationException {
        return (long) type.getMethod("pageSize").invoke(null);
    }

    @Test
    void shouldExtractIntoADirectoryOfTheUserAlone() throws Exception {
        try (ExtractedLibraries libraries =
                ExtractedLibraries.into(directory, VerbsLibrary.class.getClassLoader(), List.of("disni"))) {
            Path file = libraries.file("disni");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())))
                    .isEqualTo("rwx------");
            assertThat(libraries.file("verbena")).isNull();
        }
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void shouldCreateObjectsInItsLoader() throws Exception {
        VerbsLibrary library = VerbsLibrary.open(BUNDLED.withPrefix(Inside.class.getName()));
        Callable<?> inside = library.instantiate(Callable.class, Inside.class.getName());
        assertThat(inside).isNotInstanceOf(Inside.class);
        assertThat(inside.call()).isSameAs(library.classLoader());
        assertThatThrownBy(() -> library.instantiate(Callable.class, "io.verbena.Nothing"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("io.verbena.Nothing");
    }

    /** Lives in the library's loader. */
    public static final class Inside implements Callable<ClassLoader> {
        /** Creates one. */
        public Inside() {}

        @Override
        public ClassLoader call() {
            return getClass().getClassLoader();
        }
    }

    @Test
    void shouldSayWhichLibraryOfTheSystemIsMissing() throws Exception {
        assertReason(
                BUNDLED.withFiles("libno-such-ibverbs.so.1", "librdmacm.so.1"),
                "rdma-core cannot be opened: libno-such-ibverbs.so.1: cannot open shared object file",
                "install");
        assertReason(
                BUNDLED.withFiles("libibverbs.so.1", "libno-such-rdmacm.so.1"), "libno-such-rdmacm.so.1: cannot open");
        // A failure does not poison the next attempt.
        VerbsLibrary.open(BUNDLED);
    }

    @Test
    void shouldSayWhichSymbolIsMissing() {
        String empty = System.getProperty("verbena.test.empty");
        assertReason(BUNDLED.withFiles(empty, "librdmacm.so.1"), empty, "ibv_get_device_list", "IBVERBS_1.1");
        assertReason(BUNDLED.withFiles("libibverbs.so.1", empty), empty, "rdma_create_event_channel", "RDMACM_1.0");
    }

    @Test
    void shouldRefuseALibraryOfAnotherBuild() throws Exception {
        Path other = Files.writeString(directory.resolve("hash"), "0123456789abcdef\n");
        ClassLoader parent = TestLibrary.resources(name -> name.equals("native/build-hash") ? other : null);
        assertThatThrownBy(() -> VerbsLibrary.open(BUNDLED, parent))
                .isInstanceOf(VerbsUnavailableException.class)
                .hasMessageMatching("libverbena is of another build than the jar: library=[0-9a-f]{16}, "
                        + "jar=0123456789abcdef; leave only one version of Verbena on the class path");
    }

    @Test
    void shouldSayThatTheJarHasNoLibraries() {
        Path missing = directory.resolve("missing");
        ClassLoader noHash = TestLibrary.resources(name -> name.equals("native/build-hash") ? missing : null);
        assertThatThrownBy(() -> VerbsLibrary.open(BUNDLED, noHash))
                .isInstanceOf(VerbsUnavailableException.class)
                .hasMessageContaining("the jar has no native libraries");
        ClassLoader noLibraries = TestLibrary.resources(name -> name.endsWith(".so") ? missing : null);
        assertThatThrownBy(() -> VerbsLibrary.open(BUNDLED, noLibraries))
                .isInstanceOf(VerbsUnavailableException.class)
                .hasMessageContaining("no verbena in java.library.path");
    }

    @Test
    void shouldSayThatTheLibraryIsForAnotherMachine() throws Exception {
        Path library = directory.resolve("libverbena.so");
        try (var in =
                VerbsLibrary.class.getClassLoader().getResourceAsStream("native/" + OTHER_ARCH + "/libverbena.so")) {
            Files.copy(in, library);
        }
        ClassLoader parent = TestLibrary.resources(name -> name.endsWith("libverbena.so") ? library : null);
        assertThatThrownBy(() -> VerbsLibrary.open(BUNDLED, parent))
                .isInstanceOf(VerbsUnavailableException.class)
                .hasMessageContainingAll("os=Linux, arch=" + System.getProperty("os.arch"), "libverbena.so");
    }

    @Test
    void shouldTryTheNextDirectoryWhereOneIsNoexec() throws Exception {
        Path missing = directory.resolve("missing");
        Path good = Files.createDirectory(directory.resolve("good"));
        try (Tmpfs noexec = Tmpfs.mount("tmpfs", "noexec,size=4m")) {
            VerbsLibraryOptions bad = BUNDLED.withOnlyDirectories(List.of(missing, noexec.path()));
            assertReason(bad, "2 directories: ", missing + " (no such directory)", noexec.path() + " (mounted noexec)");

            VerbsLibrary library = VerbsLibrary.open(bad.withDirectories(List.of(good)));

            assertThat(pageSize(nativeClass(library))).isPositive();
            assertThat(noexec.path()).isEmptyDirectory();
            assertThat(good).isEmptyDirectory();
        }
    }

    @Test
    void shouldSayThatTheUserHasNoLibraryOfHisOwn() {
        assertReason(
                VerbsLibraryOptions.of(Source.SYSTEM),
                "the user's libdisni cannot be loaded: no disni in java.library.path",
                "use the bundled one");
    }

    @Test
    void shouldReportNoDeviceByACallNotAtOpening() throws Exception {
        Class<?> type = nativeClass(VerbsLibrary.open(BUNDLED));
        boolean kernel = Files.exists(Path.of("/sys/class/infiniband_verbs"));
        if (kernel) {
            assertThat((String[]) type.getMethod("deviceNames").invoke(null)).hasSameSizeAs(devices());
        } else {
            assertThatThrownBy(() -> type.getMethod("deviceNames").invoke(null))
                    .isInstanceOf(InvocationTargetException.class)
                    .cause()
                    .isInstanceOf(IOException.class)
                    .hasMessage("ibv_get_device_list: Function not implemented [ENOSYS 38]");
        }
    }

    private static List<String> devices() throws IOException {
        Path folder = Path.of("/sys/class/infiniband");
        if (!Files.exists(folder)) {
            return List.of();
        }
        try (Stream<Path> devices = Files.list(folder)) {
            return devices.map(path -> path.getFileName().toString()).toList();
        }
    }

    private static void assertReason(VerbsLibraryOptions options, String... parts) {
        assertThatThrownBy(() -> VerbsLibrary.open(options))
                .isInstanceOf(VerbsUnavailableException.class)
                .hasMessageContainingAll(parts)
                .hasMessageNotContaining("\n");
    }
}
