package io.verbena.bench.driver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.bench.driver.DriverProcess.RequestFailedException;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class DriverProcessTest {
    private static final int ANSWER_TIMEOUT_MS = 120_000;

    @TempDir
    private Path dir;

    /** Counts rows, and fails for a negative number. */
    static final class CountingDriver {
        private CountingDriver() {}

        public static void main(String[] args) throws IOException {
            DriverServer.run(args, session -> (request, arguments, progress) -> {
                int rows = arguments.readInt();
                if (rows < 0) {
                    throw new IllegalArgumentException("rows=" + rows);
                }
                progress.accept(request);
                long count = session.range(rows).count();
                return to -> to.writeLong(count);
            });
        }
    }

    @Test
    void shouldSayThatADriverEndedWhileStarting() {
        Map<String, String> confs =
                Map.of("spark.driver.extraJavaOptions", "-XX:+NoSuchOption -XX:-IgnoreUnrecognizedVMOptions");

        assertThatThrownBy(() -> DriverProcess.start("broken", CountingDriver.class, confs, dir, ANSWER_TIMEOUT_MS))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("driver ended while starting: driver=broken, exitStatus=1")
                .hasMessageContaining("driver.log");
        assertThat(dir.resolve("broken/driver.log")).content().contains("NoSuchOption");
    }

    @Test
    void shouldStayUsableAfterAFailureAndReportItsDeath() throws IOException {
        Map<String, String> confs = new TreeMap<>(LocalSettings.of("local[1]", dir.resolve("scratch")));
        confs.put("spark.app.name", "driver-test");
        try (DriverProcess driver =
                DriverProcess.start("driver", CountingDriver.class, confs, dir, ANSWER_TIMEOUT_MS)) {
            List<String> said = new ArrayList<>();
            // Twice, to see that the first failure did not end the driver.
            for (int i = 0; i < 2; i++) {
                driver.request("count", to -> to.writeInt(-7));
                assertThatThrownBy(() -> driver.answer(said::add, DataInputStream::readLong))
                        .isInstanceOf(RequestFailedException.class)
                        .hasMessageContaining("IllegalArgumentException: rows=-7");
            }
            driver.request("count", to -> to.writeInt(3));
            assertThat(driver.answer(said::add, DataInputStream::readLong)).isEqualTo(3);
            assertThat(said).containsExactly("count");
            driver.kill();

            assertThatThrownBy(() -> {
                        driver.request("count", to -> to.writeInt(3));
                        driver.answer(said::add, DataInputStream::readLong);
                    })
                    .isInstanceOf(IOException.class)
                    .isNotInstanceOf(RequestFailedException.class)
                    .hasMessageContaining("driver process is gone: driver=driver");
        }
    }
}
