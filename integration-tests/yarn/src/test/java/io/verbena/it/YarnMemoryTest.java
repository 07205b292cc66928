package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Executors whose shuffles fill their memory, in containers that YARN kills when they take more than they asked for. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("slow")
class YarnMemoryTest {
    private static final int MEMORY_MIB = 512;
    private HadoopCluster hadoop;
    private YarnSpark spark;

    @BeforeAll
    void start(@TempDir Path temporary) throws Exception {
        hadoop = HadoopCluster.start(temporary.resolve("hadoop-" + YarnMemoryTest.class.getSimpleName()), Map.of());
        spark = YarnSpark.on(hadoop, temporary);
    }

    @AfterAll
    void stop() throws java.io.IOException {
        try {
            if (spark != null) {
                spark.close();
            }
        } finally {
            if (hadoop != null) {
                hadoop.close();
            }
        }
    }

    @AfterEach
    void assertNothingLeft() {
        spark.assertNothingLeft();
    }

    @Test
    void shouldStayInsideTheDocumentedLimit() throws Exception {
        List<String> log = spark.submit("fill", "client", YarnSpark.sizes(MEMORY_MIB), "fill", "1280")
                .awaitSuccess(150);
        System.err.println(String.join("\n", log));
    }

    @Test
    void shouldBeKilledWithTooSmallAnOverhead() throws Exception {
        Map<String, String> settings = new HashMap<>(YarnSpark.sizes(MEMORY_MIB, YarnSpark.PLAIN_OVERHEAD_MIB));
        settings.put("spark.executor.maxNumFailures", "1");
        List<String> log =
                spark.submit("small", "client", settings, "fill", "1280").awaitFailure(150);
        System.err.println(String.join("\n", log));
        assertThat(log)
                .anyMatch(line -> line.matches(".*killed by YARN for exceeding physical memory limits.*"
                        + "Consider boosting spark.executor.memoryOverhead.*"));
    }
}
