package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** Adaptive execution reads ranges of partitions and of map outputs; each test shows from the executed plan that it did. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class AdaptiveSqlTest {
    private static final long ROWS = 40_000;

    private Cluster cluster;

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.sql.adaptive.enabled", "true",
                        "spark.sql.autoBroadcastJoinThreshold", "-1",
                        "spark.sql.shuffle.partitions", "12"));
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            try (Cluster closing = cluster) {
                closing.assertNoFetchFailures();
            }
        }
    }

    /** Runs with settings that end with it. */
    private <T> T with(Map<String, String> settings, Supplier<T> action) {
        settings.forEach(cluster.sql().conf()::set);
        try {
            return action.get();
        } finally {
            settings.keySet().forEach(cluster.sql().conf()::unset);
        }
    }

    private record Executed(List<Row> rows, String plan, List<Long> dataSizes) {}

    private static Executed execute(Dataset<Row> query) {
        Counted counted = Counted.fromNow();
        List<Row> rows = query.collectAsList();
        SparkPlan plan = execution(query).executedPlan();
        List<Long> dataSizes = new ArrayList<>();
        collectDataSizes(plan, dataSizes);
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                .as("%s", counted)
                .isPositive();
        assertThat(counted.of(ShuffleCounter.READ_RETRIES)).isZero();
        return new Executed(rows, plan.toString(), dataSizes);
    }

    /** Calls {@code queryExecution}, which Spark 4 has moved from Dataset to a subclass. */
    private static QueryExecution execution(Dataset<Row> query) {
        try {
            return (QueryExecution) query.getClass().getMethod("queryExecution").invoke(query);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("no queryExecution", e);
        }
    }

    private static void collectDataSizes(SparkPlan plan, List<Long> sizes) {
        if (plan instanceof AdaptiveSparkPlanExec adaptive) {
            collectDataSizes(adaptive.executedPlan(), sizes);
        } else if (plan instanceof QueryStageExec stage) {
            collectDataSizes(stage.plan(), sizes);
        } else {
            if (plan instanceof ShuffleExchangeExec exchange) {
                sizes.add(exchange.metrics().apply("dataSize").value());
            }
            scala.collection.Iterator<SparkPlan> children = plan.children().iterator();
            while (children.hasNext()) {
                collectDataSizes(children.next(), sizes);
            }
        }
    }

    @Test
    void shouldServeCoalescedPartitions() {
        Executed executed = execute(cluster.sql()
                .range(0, ROWS, 1, 6)
                .selectExpr("id % 101 AS k", "id")
                .groupBy("k")
                .agg(org.apache.spark.sql.functions.expr("sum(id)"))
                .orderBy("k"));
        assertThat(executed.plan()).contains("AQEShuffleRead coalesced");
        assertThat(executed.rows().stream().map(Row::toString))
                .isEqualTo(LongStream.range(0, 101)
                        .mapToObj(k -> "[" + k + ","
                                + LongStream.range(0, ROWS)
                                        .filter(i -> i % 101 == k)
                                        .sum() + "]")
                        .toList());
    }

    @Test
    void shouldServeThePartsOfASkewedPartition() {
        Executed executed = with(
                Map.of(
                        "spark.sql.adaptive.skewJoin.enabled", "true",
                        "spark.sql.adaptive.skewJoin.skewedPartitionFactor", "2",
                        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes", "64k",
                        "spark.sql.adaptive.advisoryPartitionSizeInBytes", "64k"),
                () -> execute(cluster.sql()
                        .range(0, ROWS, 1, 8)
                        .selectExpr("CASE WHEN id % 10 < 8 THEN 0 ELSE id % 50 END AS k", "id")
                        .join(cluster.sql().range(0, 50, 1, 2).selectExpr("id AS k", "id * 7 AS seven"), "k")
                        .selectExpr("count(*)", "sum(id)", "sum(seven)")));
        assertThat(executed.plan())
                .contains("AQEShuffleRead coalesced and skewed")
                .contains("skew=true");
        long sevens = LongStream.range(0, ROWS)
                .map(i -> i % 10 < 8 ? 0 : i % 50)
                .map(k -> k * 7)
                .sum();
        assertThat(executed.rows().stream().map(Row::toString))
                .containsExactly("[" + ROWS + "," + ROWS * (ROWS - 1) / 2 + "," + sevens + "]");
    }

    /** One side turns out to be small, is broadcast, and the other side's map outputs are then read where they lie. */
    @Test
    void shouldServeLocalReadsOfAJoinThatBecameABroadcast() {
        Executed executed = with(
                Map.of("spark.sql.adaptive.autoBroadcastJoinThreshold", "64k"),
                () -> execute(cluster.sql()
                        .range(0, ROWS, 1, 6)
                        .selectExpr("id % 1000 AS k", "id", "concat('text', id) AS text")
                        .join(
                                cluster.sql()
                                        .range(0, ROWS, 1, 4)
                                        .selectExpr("id % 1000 AS k", "id AS other")
                                        .where("other < 10"),
                                "k")
                        .groupBy("other")
                        .agg(org.apache.spark.sql.functions.expr("sum(id)"))
                        .orderBy("other")));
        assertThat(executed.plan()).contains("AQEShuffleRead local").contains("BroadcastHashJoin");
        assertThat(executed.rows().stream().map(Row::toString))
                .isEqualTo(LongStream.range(0, 10)
                        .mapToObj(k -> "[" + k + ","
                                + LongStream.range(0, ROWS)
                                        .filter(i -> i % 1000 == k)
                                        .sum() + "]")
                        .toList());
    }

    /** Spark's statistics of a query stage come from this metric; with 0 it would broadcast everything. */
    @Test
    void shouldReportTheSizeOfRowsToThePlanner() {
        Executed executed = with(
                Map.of("spark.sql.adaptive.coalescePartitions.enabled", "false"),
                () -> execute(cluster.sql()
                        .range(0, ROWS, 1, 4)
                        .selectExpr("id", "id % 9 AS k")
                        .repartition(5, org.apache.spark.sql.functions.col("id"))));
        assertThat(executed.rows()).hasSize(Math.toIntExact(ROWS));
        // A row of two longs: 8 bytes of null bits and 16 of values.
        assertThat(executed.dataSizes()).containsExactly(24 * ROWS);
    }
}
