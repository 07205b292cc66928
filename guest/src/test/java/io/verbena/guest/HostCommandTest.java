package io.verbena.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.guest.HostCommand.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostCommandTest {
    private static final Duration LIMIT = Duration.ofSeconds(20);

    @TempDir
    private Path directory;

    @Test
    void shouldReturnBothStreams() throws Exception {
        assertThat(HostCommand.run(directory, LIMIT, "sh", "-c", "pwd; echo x >&2"))
                .isEqualTo(directory.toRealPath() + "\nx\n");
    }

    @Test
    void shouldReportAFailureWithItsOutput() {
        assertThatThrownBy(() -> HostCommand.run(directory, LIMIT, "sh", "-c", "echo no luck; exit 3"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("exitStatus=3")
                .hasMessageContaining("no luck");
    }

    @Test
    void shouldKillACommandThatDoesNotEnd() {
        assertThatThrownBy(() -> HostCommand.run(directory, Duration.ofMillis(200), "sleep", "1000"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("not ended after PT0.2S");
    }

    @Test
    void shouldNameEveryMissingToolAndItsPackage() {
        List<Tool> tools = List.of(
                new Tool("sh", "dash"),
                new Tool("no-such-command", "some-package"),
                new Tool("/no/such/file", "another"));
        assertThatThrownBy(() -> HostCommand.require(tools))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("missing=no-such-command,/no/such/file")
                .hasMessageEndingWith("install --no-install-recommends some-package another");
    }
}
