package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Queries over rows of all shapes, with rows in place, compared with Spark's sort shuffle in local mode. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
class SqlTest {
    private static final Map<String, String> QUERIES = Map.of(
            "aggregation",
            "SELECT k, count(*), sum(id), max(name), avg(price) FROM facts GROUP BY k ORDER BY k NULLS LAST",
            "range partitioned order",
            "SELECT id, name, price FROM facts ORDER BY name DESC NULLS FIRST, id",
            "decimals beyond 64 bits",
            "SELECT k, sum(big), max(price), min(big) FROM facts GROUP BY k ORDER BY k",
            "arrays, maps and structs",
            "SELECT /*+ REPARTITION(7, id) */ id, numbers, words, inner FROM facts WHERE id % 7 < 3",
            "nested values as aggregates",
            "SELECT k, sort_array(collect_list(inner)), count(numbers), max(words['b']) FROM facts GROUP BY k",
            "window",
            "SELECT id, k, sum(id) OVER (PARTITION BY k ORDER BY id ROWS 3 PRECEDING), rank() OVER (PARTITION BY name ORDER BY id)"
                    + " FROM facts WHERE id < 3000",
            "joins of all kinds",
            "SELECT f.id, f.name, g.id, g.price FROM facts f FULL OUTER JOIN facts g ON f.id = g.id * 3 + 1 WHERE coalesce(f.id, g.id) < 2500",
            "distinct, union and except",
            "SELECT name FROM facts WHERE k = 3 UNION (SELECT name FROM facts WHERE k = 4) EXCEPT SELECT name FROM facts WHERE k = 5",
            "rows larger than the staging area",
            "SELECT /*+ REPARTITION(3, id) */ id, length(blob), md5(blob) FROM"
                    + " (SELECT id, repeat(cast(id AS string), 300000) blob FROM facts WHERE id BETWEEN 100 AND 111)",
            "no rows at all",
            "SELECT k, count(*) FROM facts WHERE id < 0 GROUP BY k");

    private final Map<String, List<String>> expected = new LinkedHashMap<>();
    private Cluster cluster;

    static List<String> queries() {
        return QUERIES.keySet().stream().sorted().toList();
    }

    @BeforeAll
    void start() {
        try (Cluster sort = Cluster.local(Cluster.SORT, Cluster.settings())) {
            facts(sort.sql());
            QUERIES.forEach((name, query) -> expected.put(name, rows(sort.sql(), query)));
        }
        cluster = Cluster.twoExecutors(Cluster.OURS, Cluster.settings("spark.shuffle.rdma.writer.stagingSize", "256k"));
        facts(cluster.sql());
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            try (Cluster closing = cluster) {
                closing.assertNoFetchFailures();
            }
        }
    }

    /** Nulls in every nullable column, at different ids. */
    private static void facts(SparkSession session) {
        Dataset<Row> facts = session.range(0, 8000, 1, 5)
                .selectExpr(
                        "id",
                        "CASE WHEN id % 17 = 0 THEN NULL ELSE id % 13 END AS k",
                        "CASE WHEN id % 19 = 0 THEN NULL ELSE concat('näme-', id % 301, repeat('x', cast(id % 23 AS int))) END AS name",
                        "CASE WHEN id % 5 = 0 THEN NULL ELSE cast(id * 1.37 AS decimal(12, 2)) END AS price",
                        "cast(id AS decimal(38, 10)) * 123456789012345 AS big",
                        "CASE WHEN id % 11 = 0 THEN NULL ELSE sequence(id, id + id % 4) END AS numbers",
                        "map('a', id, 'b', CASE WHEN id % 3 = 0 THEN NULL ELSE -id END) AS words",
                        "named_struct('x', id % 29, 'y', named_struct('z', concat('z', id % 7), 't', timestamp_seconds(id))) AS inner");
        facts.createOrReplaceTempView("facts");
    }

    /** Sorted unless the query sorts: without ORDER BY the order is the shuffle's to choose. */
    private static List<String> rows(SparkSession session, String query) {
        List<String> rows =
                session.sql(query).collectAsList().stream().map(Row::toString).toList();
        return query.contains("FROM facts ORDER BY") || query.contains("GROUP BY k ORDER BY")
                ? rows
                : rows.stream().sorted().toList();
    }

    @ParameterizedTest
    @MethodSource("queries")
    void shouldAnswerAsSparksShuffleDoes(String name) {
        Counted counted = Counted.fromNow();
        assertThat(rows(cluster.sql(), QUERIES.get(name))).isEqualTo(expected.get(name));
        if (!name.equals("no rows at all")) {
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
            assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                    .as("%s", counted)
                    .isPositive();
            assertThat(expected.get(name)).isNotEmpty();
        }
        assertThat(counted.of(ShuffleCounter.READ_NETTY_BYTES)).isZero();
    }
}
