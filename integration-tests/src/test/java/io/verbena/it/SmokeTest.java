package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.Test;
import scala.Tuple2;

class SmokeTest {
    private static List<String> run(Cluster cluster) {
        Dataset<Row> rows = cluster.sql()
                .range(0, 20000, 1, 6)
                .selectExpr("id", "concat('n', id % 97) as name", "id % 13 as k")
                .repartition(9, org.apache.spark.sql.functions.col("id"))
                .groupBy("k")
                .agg(
                        org.apache.spark.sql.functions.expr("count(*) c"),
                        org.apache.spark.sql.functions.expr("sum(id) s"),
                        org.apache.spark.sql.functions.expr("max(name) m"))
                .orderBy("k");
        List<String> sql = rows.collectAsList().stream().map(Row::toString).toList();
        List<String> rdd = cluster
                .context()
                .parallelize(IntStream.range(0, 5000).boxed().toList(), 5)
                .mapToPair(i -> new Tuple2<>("key" + i % 101, i))
                .reduceByKey(Integer::sum, 7)
                .sortByKey()
                .collect()
                .stream()
                .map(Tuple2::toString)
                .toList();
        return java.util.stream.Stream.concat(sql.stream(), rdd.stream()).toList();
    }

    @Test
    void shouldGiveSparksResultsInOneProcess() {
        List<String> expected;
        try (Cluster sort = Cluster.local(Cluster.SORT, Cluster.settings())) {
            expected = run(sort);
        }
        try (Cluster ours = Cluster.local(
                Cluster.OURS, Cluster.settings("spark.serializer", "org.apache.spark.serializer.KryoSerializer"))) {
            assertThat(run(ours)).isEqualTo(expected);
            System.err.println(
                    org.apache.spark.shuffle.rdma.RdmaShuffleManager.totals().value());
        }
    }

    @Test
    void shouldGiveSparksResultsWithTwoExecutors() {
        List<String> expected;
        try (Cluster sort = Cluster.local(Cluster.SORT, Cluster.settings())) {
            expected = run(sort);
        }
        try (Cluster ours = Cluster.twoExecutors(Cluster.OURS, Cluster.settings())) {
            assertThat(run(ours)).isEqualTo(expected);
            System.err.println(
                    org.apache.spark.shuffle.rdma.RdmaShuffleManager.totals().value());
        }
    }
}
