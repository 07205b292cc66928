package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.tpcds.DriverProcess.QueryFailedException;
import java.io.IOException;
import java.nio.file.Path;
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

    @Test
    void shouldSayThatADriverEndedWhileStarting() {
        Map<String, String> confs =
                Map.of("spark.driver.extraJavaOptions", "-XX:+NoSuchOption -XX:-IgnoreUnrecognizedVMOptions");

        assertThatThrownBy(() -> DriverProcess.start("broken", confs, dir, ANSWER_TIMEOUT_MS))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("driver ended while starting: driver=broken, exitStatus=1")
                .hasMessageContaining("driver.log");
        assertThat(dir.resolve("broken/driver.log")).content().contains("NoSuchOption");
    }

    @Test
    void shouldStayUsableAfterAFailureAndReportItsDeath() throws IOException {
        Map<String, String> confs = new TreeMap<>(SparkSettings.forGenerator(dir.resolve("scratch")));
        confs.put("spark.master", "local[1]");
        try (DriverProcess driver = DriverProcess.start("driver", confs, dir, ANSWER_TIMEOUT_MS)) {
            // No tables are known yet, so every query fails; twice, to see that the first failure did not end the
            // driver.
            for (int i = 0; i < 2; i++) {
                driver.startRun("q3", true, dir.resolve("rows.tsv"));
                assertThatThrownBy(driver::awaitRun)
                        .isInstanceOf(QueryFailedException.class)
                        .hasMessageContaining("TABLE_OR_VIEW_NOT_FOUND");
            }
            driver.kill();

            assertThatThrownBy(() -> {
                        driver.startRun("q3", true, dir.resolve("rows.tsv"));
                        driver.awaitRun();
                    })
                    .isInstanceOf(IOException.class)
                    .isNotInstanceOf(QueryFailedException.class)
                    .hasMessageContaining("driver process is gone: driver=driver");
        }
    }
}
