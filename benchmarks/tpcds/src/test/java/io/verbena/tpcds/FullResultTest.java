package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.spark.sql.classic.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class FullResultTest {
    private static SparkSession session;

    @BeforeAll
    static void startSpark() {
        session = SparkSession.builder()
                .master("local[1]")
                .config("spark.ui.enabled", "false")
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.sql.shuffle.partitions", "1")
                .getOrCreate();
        session.sql("SELECT * FROM VALUES ('a', 3, 1.0D), ('b', 1, NULL), ('c', 2, 0.5D) AS t(name, key, x)")
                .createOrReplaceTempView("t");
    }

    @AfterAll
    static void stopSpark() {
        session.close();
    }

    @Test
    void shouldRemoveTheLimitAndAppendTheKeys() {
        FullResult full = FullResult.of(session, "SELECT name, key FROM t ORDER BY key DESC LIMIT 2");

        assertThat(full.limit()).hasValue(2);
        assertThat(full.keyCount()).isEqualTo(1);
        assertThat(cells(full)).containsExactly(List.of("a", "3", "3"), List.of("c", "2", "2"), List.of("b", "1", "1"));
    }

    @Test
    void shouldAppendKeysThatAreNoResultColumns() {
        FullResult full = FullResult.of(
                session,
                "WITH u AS (SELECT name, sum(key) k FROM t GROUP BY name)"
                        + " SELECT upper(name) FROM u ORDER BY CASE WHEN k > 2 THEN 0 ELSE k END, name LIMIT 1");

        assertThat(full.keyCount()).isEqualTo(2);
        assertThat(cells(full)).containsExactly(List.of("A", "0", "a"), List.of("B", "1", "b"), List.of("C", "2", "c"));
    }

    @Test
    void shouldKeepInnerLimits() {
        FullResult full =
                FullResult.of(session, "SELECT count(*) FROM (SELECT name FROM t ORDER BY name LIMIT 2) LIMIT 100");

        assertThat(full.limit()).hasValue(100);
        assertThat(full.keyCount()).isZero();
        assertThat(cells(full)).containsExactly(List.of("2"));
    }

    @Test
    void shouldLeaveAQueryWithoutLimitAsItIs() {
        FullResult full = FullResult.of(session, "SELECT max(key) FROM t");

        assertThat(full.limit()).isEmpty();
        assertThat(cells(full)).containsExactly(List.of("3"));
    }

    private static List<List<String>> cells(FullResult full) {
        return TypedRows.of(full.rows().schema(), full.rows().collectAsList()).rows();
    }
}
