package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * All TPC-DS queries and their variants give the same rows under both shuffles.
 *
 * <p>With {@code -Dverbena.tpcds.full=true} every query runs with adaptive execution on and off. That is 412 executions and about 40
 * minutes of processor time, so by default every other query runs with it on and the rest with it off.
 */
@Tag("slow")
@Timeout(3600)
class AllQueriesTest {
    /** 99 queries; 14, 23, 24 and 39 come in two variants. */
    private static final int QUERIES = 103;

    @TempDir
    private Path dir;

    @Test
    void shouldGiveTheSameRowsUnderBothShuffles() throws IOException {
        List<String> all = Options.forCorrectness(dir).queries();
        assertThat(all).hasSize(QUERIES);
        List<QueryComparison> results = new ArrayList<>();
        if (Boolean.getBoolean("verbena.tpcds.full")) {
            results.addAll(run("both", all));
            assertThat(results).hasSize(2 * QUERIES);
        } else {
            results.addAll(run("on", everyOther(all, 0)));
            results.addAll(run("off", everyOther(all, 1)));
            assertThat(results).hasSize(QUERIES);
        }
        assertThat(results.stream().filter(result -> !result.verdict().passed()))
                .as("queries whose rows differ or that failed")
                .isEmpty();
        long shuffled = results.stream()
                .filter(result -> result.sortRuns().get(0).shuffleBytesWritten() > 0)
                .count();
        assertThat(shuffled).as("queries that shuffle").isGreaterThan(results.size() * 9L / 10);
    }

    private List<QueryComparison> run(String adaptive, List<String> queries) throws IOException {
        Options options = Options.forCorrectness(
                dir.resolve("aqe-" + adaptive),
                "--data=" + dir.resolve("data"),
                "--queries=" + String.join(",", queries),
                "--aqe=" + adaptive);
        return new ComparisonRun(options, new ComparisonRun.Listener() {}).run();
    }

    private static List<String> everyOther(List<String> queries, int first) {
        List<String> chosen = new ArrayList<>();
        for (int i = first; i < queries.size(); i += 2) {
            chosen.add(queries.get(i));
        }
        return chosen;
    }
}
