package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** With a shell in place of the JVM: what counts is the processes. */
@Timeout(60)
class ForkedJvmTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    private int run(String script, Duration limit, Duration grace) throws Exception {
        return ForkedJvm.run(
                List.of("bash", "-c", script), Map.of("SPARK_X", "given"), directory, output(), limit, grace);
    }

    private Path output() {
        return directory.resolve("output");
    }

    /** A process that has ended and that nobody asks for its status still exists, but has no command. */
    private boolean isAlive() throws IOException {
        Path command = Path.of("/proc", Files.readString(output()).strip(), "cmdline");
        try {
            return Files.readAllBytes(command).length > 0;
        } catch (IOException e) {
            // It is gone, perhaps only just now.
            return false;
        }
    }

    @Test
    void shouldReturnTheExitStatus() throws Exception {
        assertThat(run("echo $SPARK_X; exit 3", LONG, LONG)).isEqualTo(3);
        assertThat(output()).hasContent("given");
    }

    @Test
    void shouldKillWhatTakesTooLong() throws Exception {
        assertThatThrownBy(() -> run("echo $$; exec tail -f /dev/null", Duration.ofSeconds(1), LONG))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("did not end in time");
        assertThat(isAlive()).isFalse();
    }

    @Test
    void shouldKillWhatOutlivesIt() throws Exception {
        assertThatThrownBy(() -> run("tail -f /dev/null >/dev/null & echo $!", LONG, Duration.ofMillis(100)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("outlived");
        assertThat(isAlive()).isFalse();
    }

    @Test
    void shouldAwaitWhatEndsByItself() throws Exception {
        assertThat(run("sleep 0.5 & echo $!", LONG, LONG)).isZero();
        assertThat(isAlive()).isFalse();
    }
}
