package io.verbena.it.containers;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The daemon that the other tests stand on. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
@Tag("slow")
class DockerDaemonTest {
    /** Where it cannot start, tests fail, and say why. */
    @Test
    void shouldFailWithTheReasonIfItCannotStart() {
        assertThatThrownBy(() -> DockerDaemon.start("--log-level=nonsense"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("dockerd did not start (it needs root and Debian's package docker.io)")
                .hasMessageContaining("nonsense");
    }
}
