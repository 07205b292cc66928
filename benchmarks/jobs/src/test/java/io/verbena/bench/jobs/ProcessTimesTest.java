package io.verbena.bench.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class ProcessTimesTest {
    /** As of proc_pid_stat(5): utime is 1234, stime 56. */
    private static final String AFTER_NAME = " S 1 2 3 0 -1 4194560 100 0 0 0 1234 56 7 8 20 0 42 0 9999 1 2 3";

    @Test
    void shouldReadTimesBehindAnyName() {
        String stat = "4711 (a (b) 1 2)" + AFTER_NAME;
        assertThat(ProcessTimes.userSeconds(stat)).isEqualTo(12.34);
        assertThat(ProcessTimes.systemSeconds(stat)).isEqualTo(0.56);
    }

    @Test
    void shouldKnowCompilersByTheirNames() {
        assertThat(ProcessTimes.isCompiler("4711 (C2 CompilerThre)" + AFTER_NAME))
                .isTrue();
        assertThat(ProcessTimes.isCompiler("4711 (C1 CompilerThre)" + AFTER_NAME))
                .isTrue();
        assertThat(ProcessTimes.isCompiler("4711 (Executor task l)" + AFTER_NAME))
                .isFalse();
    }

    /** Says that it runs, and ends when its input does. */
    static final class Child {
        private Child() {}

        public static void main(String[] arguments) throws IOException {
            System.out.println("running");
            System.out.flush();
            System.in.transferTo(OutputStream.nullOutputStream());
        }
    }

    /** Executors are JVMs; what they start for a moment may be gone when it is looked at. */
    @Test
    @Timeout(60)
    void shouldReadJvmsThatRunAndNoOtherProcesses() throws Exception {
        Process command = new ProcessBuilder("cat").start();
        Process jvm = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Child.class.getName())
                .start();
        try {
            assertThat(jvm.inputReader().readLine()).isEqualTo("running");
            assertThat(command.isAlive()).isTrue();
            assertThat(ProcessTimes.ofDescendants().processes()).isOne();
        } finally {
            jvm.destroyForcibly().waitFor();
            command.destroyForcibly().waitFor();
        }
        assertThat(ProcessTimes.ofDescendants().processes()).isZero();
    }

    @Test
    void shouldSubtractAndNoticeALostProcess() {
        ProcessTimes before = new ProcessTimes(2, 1, 2, 3);
        assertThat(new ProcessTimes(2, 10, 20, 30).since(before)).isEqualTo(new ProcessTimes(2, 9, 18, 27));
        assertThatThrownBy(() -> new ProcessTimes(1, 10, 20, 30).since(before))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("before=2, after=1");
    }
}
