package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Generates scale 0.01 and runs two queries on two local clusters, both with Spark's sort shuffle. */
@Tag("slow")
@Timeout(600)
class ComparisonRunTest {
    /** Changes the type of a decimal division, so that q12, which divides, must be called different, and q3, which adds, equal. */
    private static final String CHANGES_Q12 = "spark.sql.decimalOperations.allowPrecisionLoss=false";

    @TempDir
    private Path dir;

    @Test
    void shouldTellEqualFromDifferentResultsOfRealQueries() throws IOException {
        Options options = Options.forCorrectness(
                dir,
                "--queries=q3,q12",
                "--aqe=on",
                "--master=local-cluster[1,1,1024]",
                "--manager-ours=sort",
                "--conf-ours=" + CHANGES_Q12);
        List<QueryComparison> heard = new ArrayList<>();

        List<QueryComparison> results = new ComparisonRun(options, new ComparisonRun.Listener() {
                    @Override
                    public void finished(QueryComparison comparison) {
                        heard.add(comparison);
                    }
                })
                .run();

        assertThat(results)
                .isEqualTo(heard)
                .extracting(QueryComparison::title)
                .containsExactly("q3 aqe=on", "q12 aqe=on");
        assertThat(results)
                .extracting(QueryComparison::verdict)
                .as("%s", results)
                .containsExactly(Verdict.EQUAL, Verdict.DIFFERENT);
        assertThat(results.get(1).details()).singleElement().asString().startsWith("column types differ");
        RunMetrics run = results.get(0).sortRuns().get(0);
        assertThat(run.rowCount()).isPositive();
        assertThat(run.wallNs()).isPositive();
        assertThat(run.taskCpuNs()).isPositive();
        assertThat(run.executorCpuNs()).isPositive();
        assertThat(run.shuffleBytesWritten()).isPositive();
        assertThat(run.shuffleBytesRead()).isEqualTo(run.shuffleBytesWritten());
        assertThat(dir.resolve("scratch")).doesNotExist();
        assertThat(dir.resolve("rows")).isDirectoryContaining("glob:**/q12.aqe-on.ours.tsv");
        assertData(options.dataDir());
    }

    private static void assertData(String dataDir) throws IOException {
        try (SparkSession session = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", "false")
                .config("spark.driver.host", "127.0.0.1")
                .getOrCreate()) {
            TpcdsTables.register(session, dataDir);

            // Row counts that the TPC-DS specification (table 3-2) fixes for every scale, then two that the scale
            // determines.
            assertThat(Stream.of(
                                    "date_dim",
                                    "time_dim",
                                    "customer_demographics",
                                    "household_demographics",
                                    "customer",
                                    "item")
                            .map(table -> session.table(table).count()))
                    .containsExactly(73_049L, 86_400L, 1_920_800L, 7_200L, 1_000L, 2_000L);
            assertThat(session.sql("SELECT count(*), count(d_date), min(d_date), max(d_date) FROM date_dim")
                            .first()
                            .toString())
                    .isEqualTo("[73049,73049,1900-01-02,2100-01-01]");
            // A sales line is unique by item and ticket, and each return belongs to one.
            assertThat(session.sql("SELECT count(*) - count(DISTINCT ss_item_sk, ss_ticket_number) FROM store_sales")
                            .first()
                            .getLong(0))
                    .isZero();
            assertThat(session.sql("SELECT count(*) FROM store_returns LEFT ANTI JOIN store_sales"
                                    + " ON sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number")
                            .first()
                            .getLong(0))
                    .isZero();
            assertThat(session.table("store_returns").count()).isPositive();
            assertThat(new DataGenerator(session, 0.01, dataDir).generate(table -> {}))
                    .isFalse();
        }
    }
}
