package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What table formats do with Spark besides queries: merges, which join, count matches and write by the table's distribution, and
 * rewrites, which sort and repartition, and reads of an old version. The tables and what the formats say of their commands are known, or the same as with Spark's
 * shuffle.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS)
@Tag("slow")
class TableFormatsTest {
    private static final int ROWS = 3000;

    @TempDir
    Path directory;

    enum Format {
        DELTA {
            @Override
            Map<String, String> settings(Path directory) {
                return Cluster.settings(
                        "spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension",
                        "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog",
                        "spark.databricks.delta.snapshotPartitions", "2");
            }

            @Override
            String create(Path directory) {
                return "CREATE TABLE " + table() + " (id BIGINT, k STRING, v BIGINT) USING delta LOCATION '" + directory
                        + "'";
            }

            @Override
            String table() {
                return "delta_table";
            }

            @Override
            String firstVersion(SparkSession sql) {
                return "1";
            }

            @Override
            String rewrite() {
                return "OPTIMIZE " + table() + " ZORDER BY (v, k)";
            }

            @Override
            Dataset<Row> history(SparkSession sql) {
                return sql.sql("DESCRIBE HISTORY " + table())
                        .orderBy("version")
                        .select(
                                "operation",
                                "operationMetrics.numTargetRowsInserted",
                                "operationMetrics.numTargetRowsUpdated",
                                "operationMetrics.numTargetRowsDeleted");
            }
        },
        ICEBERG {
            @Override
            Map<String, String> settings(Path directory) {
                return Cluster.settings(
                        "spark.sql.extensions",
                        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
                        "spark.sql.catalog.ice",
                        "org.apache.iceberg.spark.SparkCatalog",
                        "spark.sql.catalog.ice.type",
                        "hadoop",
                        "spark.sql.catalog.ice.warehouse",
                        directory.toString());
            }

            @Override
            String create(Path directory) {
                return "CREATE TABLE " + table()
                        + " (id BIGINT, k STRING, v BIGINT) USING iceberg PARTITIONED BY (bucket(4, id))";
            }

            @Override
            String table() {
                return "ice.db.iceberg_table";
            }

            @Override
            String firstVersion(SparkSession sql) {
                return Long.toString(sql.table(table() + ".snapshots")
                        .select("snapshot_id")
                        .head()
                        .getLong(0));
            }

            @Override
            String rewrite() {
                return "CALL ice.system.rewrite_data_files(table => 'db.iceberg_table', strategy => 'sort',"
                        + " sort_order => 'zorder(v, k)', options => map('rewrite-all', 'true'))";
            }

            @Override
            Dataset<Row> history(SparkSession sql) {
                return sql.sql("SELECT operation, summary['added-records'], summary['deleted-records'],"
                        + " summary['total-records'] FROM " + table() + ".snapshots ORDER BY committed_at");
            }
        };

        abstract Map<String, String> settings(Path directory);

        abstract String create(Path directory);

        abstract String table();

        /** After the first insertion. */
        abstract String firstVersion(SparkSession sql);

        abstract String rewrite();

        /** What the format says of its commands. */
        abstract Dataset<Row> history(SparkSession sql);
    }

    /** Runs the commands; returns what the format says of them and the rows that are left. */
    private List<String> run(SparkSession sql, Format format, Path location) {
        String table = format.table();
        sql.sql(format.create(location));
        sql.sql("INSERT INTO " + table + " SELECT id, concat('k', id % 17), id FROM range(0, " + ROWS + ", 1, 3)");
        String inserted = format.firstVersion(sql);
        List<Long> shuffled = new ArrayList<>();
        for (String command : List.of(
                "MERGE INTO " + table + " t USING (SELECT id * 2 AS id, 'new' AS k, id AS v FROM range(0, " + ROWS
                        + ", 1, 2)) s ON t.id = s.id WHEN MATCHED AND t.id % 10 = 0 THEN DELETE"
                        + " WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *",
                format.rewrite())) {
            Counted counted = Counted.fromNow();
            sql.sql(command).collectAsList();
            shuffled.add(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES));
        }
        if (sql.sparkContext().conf().get("spark.shuffle.manager").equals(Cluster.OURS)) {
            assertThat(shuffled)
                    .as("bytes in memory of the merge and of the rewrite")
                    .allMatch(bytes -> bytes > 0);
        }
        sql.sql("DELETE FROM " + table + " WHERE id % 3 = 1");
        List<String> said = new ArrayList<>(strings(format.history(sql)));
        List<String> past = strings(sql.sql(
                "SELECT k, count(*), sum(v) FROM " + table + " VERSION AS OF " + inserted + " GROUP BY k ORDER BY k"));
        assertThat(past).as("as first inserted").isEqualTo(insertedByKey());
        said.addAll(strings(sql.table(table).orderBy("id")));
        sql.sql("DROP TABLE " + table);
        return said;
    }

    private static List<String> strings(Dataset<Row> rows) {
        return rows.collectAsList().stream().map(Row::toString).toList();
    }

    private static List<String> insertedByKey() {
        Map<String, LongSummaryStatistics> byKey = LongStream.range(0, ROWS)
                .boxed()
                .collect(
                        Collectors.groupingBy(id -> "k" + id % 17, TreeMap::new, Collectors.summarizingLong(id -> id)));
        return byKey.entrySet().stream()
                .map(key -> "[" + key.getKey() + "," + key.getValue().getCount() + ","
                        + key.getValue().getSum() + "]")
                .toList();
    }

    private static List<String> rows() {
        Map<Long, String> rows = new TreeMap<>();
        for (long id = 0; id < ROWS; id++) {
            rows.put(id, "k" + id % 17 + "," + id);
        }
        for (long s = 0; s < ROWS; s++) {
            long id = s * 2;
            if (id >= ROWS) {
                rows.put(id, "new," + s);
            } else if (id % 10 == 0) {
                rows.remove(id);
            } else {
                rows.put(id, "k" + id % 17 + "," + (id + s));
            }
        }
        return rows.entrySet().stream()
                .filter(row -> row.getKey() % 3 != 1)
                .map(row -> "[" + row.getKey() + "," + row.getValue() + "]")
                .toList();
    }

    @ParameterizedTest
    @EnumSource
    void shouldMergeAndRewriteAsWithSparksShuffle(Format format) {
        List<String> expected = runWith(Cluster.SORT, format);
        List<String> rows = rows();
        assertThat(expected.subList(expected.size() - rows.size(), expected.size()))
                .isEqualTo(rows);
        assertThat(runWith(Cluster.OURS, format)).isEqualTo(expected);
    }

    private List<String> runWith(String manager, Format format) {
        Path location = directory.resolve(manager);
        try (Cluster cluster = Cluster.local(manager, format.settings(location))) {
            return run(cluster.sql(), format, location);
        }
    }
}
