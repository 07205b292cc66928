package io.verbena.it.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Spark jobs between executors on two hosts: all blocks of the other host travel by RDMA Read. */
@Tag("guest")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class TwoHostJobTest {
    private static final int ROWS = 20_000;
    private static final int KEYS = 13;

    @Test
    void shouldGiveTheRightResultsBetweenTwoHosts() throws Exception {
        try (TwoHostCluster cluster = TwoHostCluster.start(Map.of("spark.sql.autoBroadcastJoinThreshold", "-1"))) {
            cluster.sql()
                    .range(0, ROWS, 1, 4)
                    .selectExpr("id", "id % " + KEYS + " AS k")
                    .createOrReplaceTempView("facts");
            cluster.sql()
                    .range(0, KEYS, 1, 2)
                    .selectExpr("id AS k", "concat('name', id) AS name")
                    .createOrReplaceTempView("names");
            List<String> rows = cluster
                    .sql()
                    .sql("SELECT name, count(*), sum(id) FROM facts JOIN names USING (k) GROUP BY name ORDER BY name")
                    .collectAsList()
                    .stream()
                    .map(Object::toString)
                    .toList();
            assertThat(rows).isEqualTo(expected());

            List<ExecutorProbe.State> states = cluster.states();
            assertThat(states).hasSize(2).allSatisfy(state -> {
                assertThat(state.counter(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                        .as("written in memory by %s", state)
                        .isPositive();
                assertThat(state.counter(ShuffleCounter.READ_RDMA_BYTES))
                        .as("read from the other host by %s", state)
                        .isPositive();
                assertThat(state.counter(ShuffleCounter.READ_NETTY_BYTES)
                                + state.counter(ShuffleCounter.READ_MAPPED_BYTES))
                        .as("read another way by %s", state)
                        .isZero();
                assertThat(state.counter(ShuffleCounter.FETCH_FAILURES))
                        .as("failures of %s", state)
                        .isZero();
            });
            states.forEach(System.err::println);
        }
    }

    private static List<String> expected() {
        List<String> rows = new ArrayList<>();
        for (int k = 0; k < KEYS; k++) {
            int key = k;
            long[] ids =
                    LongStream.range(0, ROWS).filter(id -> id % KEYS == key).toArray();
            rows.add("[name" + k + "," + ids.length + "," + LongStream.of(ids).sum() + "]");
        }
        return rows.stream().sorted().toList();
    }
}
