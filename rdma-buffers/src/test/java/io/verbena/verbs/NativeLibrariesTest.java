package io.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What is in the jar's libraries, for both architectures: read by readelf. */
class NativeLibrariesTest {
    private static final String DISPATCHER = "com.ibm.disni.verbs.impl.NativeDispatcher";
    private static final String AFFINITY = "com.ibm.disni.util.NativeAffinity";
    private static final String NATIVE = "io.verbena.verbs.bound.VerbsNative";
    /** Section index, or UND, and name of a symbol that others see. */
    private static final Pattern SYMBOL = Pattern.compile(" (?:GLOBAL|WEAK) +\\w+ +(\\w+) (\\w+)");
    /** The glibc of RHEL 7; nothing that Spark runs on is older. */
    private static final int[] OLDEST_GLIBC = {2, 17};

    @TempDir
    Path directory;

    /** This machine's, and the one that a cross compiler is for. */
    static Set<String> architectures() {
        return new TreeSet<>(Arrays.asList(System.getProperty("os.arch"), "aarch64"));
    }

    @ParameterizedTest
    @MethodSource("architectures")
    void shouldExportExactlyTheNatives(String arch) throws Exception {
        Set<String> disni = nativesOf(DISPATCHER);
        assertThat(disni).hasSize(48);
        disni.addAll(nativesOf(AFFINITY));
        disni.add("Java_io_verbena_verbs_bound_VerbsNative_disniBuildHash");
        Set<String> verbena = nativesOf(NATIVE);
        verbena.remove("Java_io_verbena_verbs_bound_VerbsNative_disniBuildHash");

        assertThat(symbols(arch, "disni", true)).isEqualTo(disni);
        assertThat(symbols(arch, "verbena", true)).isEqualTo(verbena);
    }

    @ParameterizedTest
    @MethodSource("architectures")
    void shouldNeedNoRdmaLibraryAndNoNewGlibc(String arch) throws Exception {
        for (String name : List.of("disni", "verbena")) {
            assertThat(symbols(arch, name, false))
                    .isNotEmpty()
                    .contains("dlopen", "dlvsym")
                    .noneMatch(symbol -> symbol.startsWith("ibv_") || symbol.startsWith("rdma_"));
            String dynamic = readelf("-d", arch, name);
            assertThat(dynamic).contains("NEEDED").doesNotContain("libibverbs", "librdmacm");
            Matcher versions = Pattern.compile("GLIBC_(\\d+)\\.(\\d+)").matcher(readelf("-V", arch, name));
            int found = 0;
            while (versions.find()) {
                found++;
                int[] version = {Integer.parseInt(versions.group(1)), Integer.parseInt(versions.group(2))};
                assertThat(Arrays.compare(version, OLDEST_GLIBC))
                        .as(versions.group())
                        .isLessThanOrEqualTo(0);
            }
            assertThat(found).isPositive();
        }
    }

    private Set<String> symbols(String arch, String name, boolean defined) throws IOException, InterruptedException {
        Set<String> symbols = new TreeSet<>();
        Matcher matcher = SYMBOL.matcher(readelf("--dyn-syms", arch, name));
        while (matcher.find()) {
            if (defined != matcher.group(1).equals("UND")) {
                symbols.add(matcher.group(2));
            }
        }
        return symbols;
    }

    private String readelf(String option, String arch, String name) throws IOException, InterruptedException {
        Path file = directory.resolve(arch + "-" + name + ".so");
        if (!Files.exists(file)) {
            String resource = "native/linux-" + arch + "/lib" + name + ".so";
            try (InputStream in = VerbsLibrary.class.getClassLoader().getResourceAsStream(resource)) {
                assumeThat(in)
                        .as("%s: built where aarch64-linux-gnu-gcc is installed", resource)
                        .isNotNull();
                Files.copy(in, file);
            }
        }
        Process process = new ProcessBuilder("readelf", "-W", option, file.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    /** Returns the names that JNI looks up; an underscore in a Java name is _1. */
    private static Set<String> nativesOf(String className) throws ClassNotFoundException {
        Set<String> names = new TreeSet<>();
        Class<?> type = Class.forName(className, false, NativeLibrariesTest.class.getClassLoader());
        for (Method method : type.getDeclaredMethods()) {
            if (Modifier.isNative(method.getModifiers())) {
                names.add("Java_" + className.replace('.', '_') + "_"
                        + method.getName().replace("_", "_1"));
            }
        }
        return names;
    }
}
