package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** All TPC-DS queries and their variants, with adaptive execution on and off: the same rows under both shuffles. */
@Tag("slow")
@Timeout(3000)
class AllQueriesTest {
    @TempDir
    private Path dir;

    @Test
    void shouldGiveTheSameRowsUnderBothShuffles() throws IOException {
        Options options = Options.forCorrectness(dir, "--queries=all", "--aqe=both");

        List<QueryComparison> results = new ComparisonRun(options, new ComparisonRun.Listener() {}).run();

        // 99 queries; 14, 23, 24 and 39 come in two variants.
        assertThat(results).hasSize(2 * 103);
        assertThat(results.stream().filter(result -> !result.verdict().passed()))
                .as("queries whose rows differ or that failed")
                .isEmpty();
        assertThat(results.stream().filter(result -> result.sortRuns().get(0).shuffleBytesWritten() > 0).count())
                .as("queries that shuffle")
                .isGreaterThan(2 * 90);
    }
}
