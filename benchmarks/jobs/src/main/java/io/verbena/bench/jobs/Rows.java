package io.verbena.bench.jobs;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.unsafe.Platform;

/** Jobs on Spark SQL's rows. Inputs are computed from a row number within the map tasks. */
final class Rows {
    private static final int WIDE_MAPS = 16;

    /** Of 248 bytes as Spark lays them out: 400 MB. */
    private static final long WIDE_ROWS = 1_600_000;

    private Rows() {}

    /** 30 columns, about half of them incompressible. */
    static long repartitionWide(SparkSession session, double scale, int partitions) {
        List<String> columns = new ArrayList<>(List.of("id"));
        for (int i = 0; i < 14; i++) {
            columns.add("xxhash64(id, " + i + ") AS h" + i);
        }
        for (int i = 0; i < 15; i++) {
            columns.add("id * " + (i + 3) + " % 100003 AS s" + i);
        }
        return repartition(session, scaled(WIDE_ROWS, scale), WIDE_MAPS, columns, partitions);
    }

    /** Two columns. */
    static long repartitionNarrow(SparkSession session, double scale) {
        return repartition(session, scaled(8_000_000, scale), 16, List.of("id", "xxhash64(id) AS h"), 64);
    }

    /** Rows of about 100 bytes, few of which go from one map task to one reduce task: about 500 bytes a block. */
    static long repartitionSmall(SparkSession session, long rows, int maps, int partitions) {
        List<String> columns = List.of(
                "id",
                "xxhash64(id) AS a",
                "xxhash64(id, 1) AS b",
                "id % 7 AS c",
                "id % 11 AS d",
                "xxhash64(id, 2) AS e",
                "id + 1 AS f",
                "id + 2 AS g",
                "id + 3 AS h",
                "id + 4 AS i",
                "id + 5 AS j");
        return repartition(session, rows, maps, columns, partitions);
    }

    private static long repartition(SparkSession session, long rows, int maps, List<String> columns, int partitions) {
        return checksum(session.range(0, rows, 1, maps)
                .selectExpr(columns.toArray(new String[0]))
                .repartition(partitions, functions.col("id")));
    }

    /** A line item table joined with an order table and aggregated by customer: both sides and the aggregation shuffle. */
    static long join(SparkSession session, double scale) {
        Dataset<?> orders = session.range(0, scaled(450_000, scale), 1, 8)
                .selectExpr(
                        "id AS o_orderkey",
                        "id % 150000 AS o_custkey",
                        "cast(xxhash64(id) % 100000 AS double) AS o_totalprice",
                        "cast(id % 2400 AS int) AS o_orderdate",
                        "concat('Clerk#', id % 1000) AS o_clerk",
                        "'5-LOW' AS o_priority");
        Dataset<?> lines = session.range(0, scaled(1_800_000, scale), 1, 16)
                .selectExpr(
                        "cast(id / 4 AS bigint) AS l_orderkey",
                        "xxhash64(id) % 200000 AS l_partkey",
                        "id % 10000 AS l_suppkey",
                        "cast(id % 50 AS double) AS l_quantity",
                        "cast(id % 100000 AS double) AS l_extendedprice",
                        "cast(id % 10 AS double) / 100 AS l_discount",
                        "cast(id % 8 AS double) / 100 AS l_tax",
                        "cast(id % 2500 AS int) AS l_shipdate",
                        "concat('comment ', xxhash64(id, 3)) AS l_comment");
        // Prices are whole numbers, so that their sums do not depend on the order in which blocks come.
        return checksum(lines.join(orders, lines.col("l_orderkey").equalTo(orders.col("o_orderkey")))
                .groupBy("o_custkey")
                .agg(
                        functions.sum("l_extendedprice"),
                        functions.max("l_comment"),
                        functions.sum("o_totalprice"),
                        functions.max("o_clerk")));
    }

    private static long scaled(long rows, double scale) {
        return Math.max(1, (long) (rows * scale));
    }

    /**
     * Runs the query and sums up its rows, each read from its first byte to its last: a shuffle that hands out rows where they lie
     * has its costs when they are read.
     */
    private static long checksum(Dataset<?> rows) {
        return rows.queryExecution()
                .toRdd()
                .toJavaRDD()
                .mapPartitions(partition -> {
                    long sum = 0;
                    while (partition.hasNext()) {
                        sum += Hash.mix(hash(partition.next()));
                    }
                    return List.of(sum).iterator();
                })
                .fold(0L, Long::sum);
    }

    private static long hash(InternalRow row) {
        UnsafeRow bytes = (UnsafeRow) row;
        Object base = bytes.getBaseObject();
        long end = bytes.getBaseOffset() + bytes.getSizeInBytes();
        long hash = 0;
        for (long at = bytes.getBaseOffset(); at < end; at += Long.BYTES) {
            hash = hash * 31 + Platform.getLong(base, at);
        }
        return hash;
    }
}
