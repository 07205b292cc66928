package org.apache.spark.shuffle.rdma;

import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.sum;
import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.seam.SparkLine;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Spark 4.2, and 4.1 if asked to, trusts the row checksums in map statuses to notice that a retried map task of an indeterminate
 * stage has sent rows to other partitions, and gives up its older protection for it. A writer that reports 0 gives wrong results
 * in jobs that succeed.
 *
 * <p>The job: ids are a bijection of 0..99,999, so the right answer is 100,000 distinct ids, each once. The second test runs the
 * same job with the checksums zeroed, which shows that the first one can fail.
 */
@Timeout(300)
class IndeterminateRetryTest {
    private static final long IDS = 100_000;

    @Test
    void shouldGiveRightResultsWhenARetryMovesRows() {
        Row answer = run(false);
        assertThat(answer.getLong(0)).as("distinct ids").isEqualTo(IDS);
        assertThat(answer.getLong(1)).as("rows").isEqualTo(IDS);
        assertThat(answer.getLong(2)).as("most copies of one id").isEqualTo(1);
    }

    @Test
    void shouldShowTheDamageWhenChecksumsAreZero() {
        Row answer = run(true);
        assertThat(answer.getLong(0)).as("distinct ids with checksum 0").isLessThan(IDS);
    }

    private static Row run(boolean zeroChecksum) {
        RetryingManager.zeroChecksum = zeroChecksum;
        RetryingManager.CONSUMERS_DONE.set(0);
        SparkSession.Builder builder = SparkSession.builder();
        if (SparkLine.current().equals(new SparkLine(4, 1))) {
            // Where it is not the default yet.
            builder.config("spark.sql.shuffle.orderIndependentChecksum.enabled", "true")
                    .config("spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch", "true");
        }
        SparkSession session = builder.appName("indeterminate")
                .master("local[9]")
                .config("spark.shuffle.manager", RetryingManager.class.getName())
                .config("spark.ui.enabled", "false")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", "9")
                .config("spark.sql.adaptive.enabled", "false")
                .config("spark.sql.execution.sortBeforeRepartition", "false")
                .config("spark.shuffle.rdma.memory.size", "64m")
                .config("spark.shuffle.rdma.memory.segmentSize", "16m")
                .getOrCreate();
        try {
            Dataset<Row> once = session.range(0, IDS, 1, 8)
                    .select(expr("(id * 7919) % 100000").as("id"))
                    .groupBy("id")
                    .agg(count(lit(1)).as("c"))
                    .repartition(9)
                    .groupBy("id")
                    .agg(sum("c").as("c"));
            Row answer = once.agg(count(lit(1)), sum("c"), max("c")).head();
            assertThat(RdmaShuffleManager.totals()
                            .get(io.verbena.shuffle.metrics.ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .as("the shuffles were ours")
                    .isPositive();
            return answer;
        } finally {
            session.stop();
        }
    }
}
