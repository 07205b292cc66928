package io.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.verbs.VerbsLibraryOptions.Source;
import io.verbena.verbs.fake.FakeVerbs;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * All natives against the fake libibverbs and librdmacm, built with the address and undefined behaviour sanitizers and called under
 * -Xcheck:jni: any report ends the JVM and so fails the run. Needs the environment of this module's surefire execution "sanitized".
 */
@Tag("sanitized")
class FakeVerbsTest {
    @TestFactory
    List<DynamicTest> disni() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "DisniOnFake");
    }

    @TestFactory
    List<DynamicTest> connections() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "ConnectionsOnFake");
    }

    @TestFactory
    List<DynamicTest> queues() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "QueuesOnFake");
    }

    @TestFactory
    List<DynamicTest> signals() throws Exception {
        return TestLibrary.tests(TestLibrary.open(), "SignalsOnFake");
    }

    @Test
    void shouldUseTheUsersOwnLibraryWhenAsked() throws Exception {
        VerbsLibrary library = VerbsLibrary.open(VerbsLibraryOptions.of(Source.SYSTEM), TestLibrary.parent());
        assertThat(library.description()).startsWith("libdisni=java.library.path, build=");
        Class<?> type = Class.forName("com.ibm.disni.verbs.RdmaEventChannel", true, library.classLoader());
        Object channel = type.getMethod("createEventChannel").invoke(null);
        assertThat(FakeVerbs.live()).isEqualTo(1);
        type.getMethod("destroyEventChannel").invoke(channel);
        assertThat(FakeVerbs.live()).isZero();
    }

    /** Without these two the run could pass with libraries that check nothing. */
    @Test
    void shouldEndTheJvmOnAMemoryError() throws Exception {
        assertThat(outputOfDying("fill")).contains("within=1", "AddressSanitizer: heap-buffer-overflow");
    }

    @Test
    void shouldEndTheJvmOnUndefinedBehaviour() throws Exception {
        assertThat(outputOfDying("increment")).contains("within=2", "signed integer overflow");
    }

    private static String outputOfDying(String argument) throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dverbena.test.fake=" + System.getProperty("verbena.test.fake"),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Dying.class.getName(),
                        argument)
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isNotZero();
        assertThat(output).doesNotContain("beyond");
        return output;
    }

    /** Does what is allowed, then what is not. */
    static final class Dying {
        private Dying() {}

        public static void main(String[] arguments) {
            boolean fill = arguments[0].equals("fill");
            System.out.println("within=" + (fill ? FakeVerbs.fill(4) : FakeVerbs.increment(1)));
            System.out.println("beyond=" + (fill ? FakeVerbs.fill(5) : FakeVerbs.increment(Integer.MAX_VALUE)));
        }
    }

    @Test
    void shouldHaveLoadedTheSanitizedLibraries() throws Exception {
        TestLibrary.open();
        assertThat(Files.readString(Path.of("/proc/self/maps"))).contains("libasan.so", "fake/librdmacm.so.1");
    }
}
