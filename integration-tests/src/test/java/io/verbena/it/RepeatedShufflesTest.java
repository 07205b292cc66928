package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An application that shuffles again and again: memory is reused, and little of it is more than what was shuffled. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("slow")
class RepeatedShufflesTest {
    private static final int SHUFFLES = 100;

    /** All tasks of both executors at once have had their memory by then. */
    private static final int WARM = 20;

    private static final int ROWS = 16_000;

    /** As Spark lays out a row: a word of null bits, the id, offset and length of the text, the text; and our length before it. */
    private static final long ROW_BYTES = 8 + 8 + 8 + 1024 + 8;

    @Test
    void shouldHoldNoMoreMemoryAfterAHundredShuffles() {
        try (Cluster cluster = Cluster.twoExecutors(Cluster.OURS, Cluster.settings())) {
            List<Long> committed = new ArrayList<>();
            for (int i = 0; i < SHUFFLES; i++) {
                assertThat(cluster.sql()
                                .range(0, ROWS, 1, 8)
                                .selectExpr("id", "repeat(lpad(cast(id AS string), 16, '0'), 64) AS text")
                                .repartition(10, functions.col("id"))
                                .selectExpr("sum(id)", "sum(length(text))")
                                .collectAsList()
                                .toString())
                        .isEqualTo("[[" + (long) ROWS * (ROWS - 1) / 2 + "," + ROWS * 1024L + "]]");
                List<ExecutorProbe.State> states = cluster.states();
                long leased = states.stream()
                        .mapToLong(ExecutorProbe.State::leasedBytes)
                        .sum();
                // Map outputs of 2 MB in 10 blocks; what the sum's shuffle holds beside is less than a percent.
                assertThat(leased).isBetween(ROWS * ROW_BYTES, (long) (ROWS * ROW_BYTES * 1.05));
                committed.add(states.stream()
                        .mapToLong(ExecutorProbe.State::committedBytes)
                        .sum());
                cluster.assertNothingHeld();
            }
            long warm = committed.subList(0, WARM).stream()
                    .mapToLong(Long::longValue)
                    .max()
                    .orElseThrow();
            assertThat(committed.subList(WARM, SHUFFLES))
                    .as("bytes held: %s", committed)
                    .allMatch(bytes -> bytes <= warm);
            cluster.assertNoFetchFailures();
        }
    }
}
