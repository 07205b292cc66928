package io.verbena.it;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.sum;
import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Streaming queries with state: two micro-batches, the end of the query, and a third one by a new query that starts from the
 * checkpoint. State is partitioned as our shuffle brings the rows, in every micro-batch anew.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
@Tag("slow")
class StreamingTest {
    private static final String PROVIDERS = "org.apache.spark.sql.execution.streaming.state.";
    private static final String FILES = "HDFSBackedStateStoreProvider";
    private static final String ROCKSDB = "RocksDBStateStoreProvider";
    private static final int BATCHES = 3;
    private static final int ROWS = 300;
    private static final int KEYS = 11;

    private Cluster cluster;

    @TempDir
    Path directory;

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(Cluster.OURS, Cluster.settings("spark.sql.shuffle.partitions", "3"));
        cluster.awaitExecutors();
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** What a query has left in memory goes when the driver's garbage collector finds that nobody needs it. */
    @AfterEach
    void assertMemoryIsGivenBack() {
        assertThat(Await.within(60, () -> {
                    System.gc();
                    return cluster.states().stream().allMatch(state -> state.leasedBytes() == 0);
                }))
                .as("%s", cluster.states())
                .isTrue();
        cluster.assertNoFetchFailures();
    }

    /** The ids of one micro-batch: a third of them are the last one's. */
    private static IntStream ids(int batch) {
        return IntStream.range(batch * ROWS * 2 / 3, batch * ROWS * 2 / 3 + ROWS);
    }

    private static IntStream allIds() {
        return IntStream.range(0, BATCHES).flatMap(StreamingTest::ids);
    }

    /** Adds what the next micro-batch reads. */
    private void add(String source, int batch) {
        try {
            Path draft = Files.writeString(
                    directory.resolve(source + batch),
                    ids(batch).mapToObj(id -> id + "," + id % KEYS).collect(Collectors.joining("\n")));
            Files.move(draft, Files.createDirectories(directory.resolve(source)).resolve(batch + ".csv"));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private Dataset<Row> stream(String source) {
        return cluster.sql()
                .readStream()
                .schema("id INT, k INT")
                .option("maxFilesPerTrigger", 1)
                .csv(directory.resolve(source).toString());
    }

    /** Processes what there is; returns the output of each micro-batch. */
    private SortedMap<Long, List<Row>> process(Dataset<Row> query, String mode) throws Exception {
        SortedMap<Long, List<Row>> output = new TreeMap<>();
        VoidFunction2<Dataset<Row>, Long> keep = (rows, batch) -> output.put(batch, rows.collectAsList());
        StreamingQuery running = query.writeStream()
                .outputMode(mode)
                .option("checkpointLocation", directory.resolve("checkpoint").toString())
                .trigger(Trigger.AvailableNow())
                .foreachBatch(keep)
                .start();
        try {
            assertThat(running.awaitTermination(120_000))
                    .as("the query has ended")
                    .isTrue();
        } finally {
            running.stop();
        }
        return output;
    }

    /** All rows of all micro-batches, those of the query that starts from the checkpoint included. */
    private List<Row> processAll(
            String provider, String mode, List<String> sources, Function<List<Dataset<Row>>, Dataset<Row>> plan)
            throws Exception {
        cluster.sql().conf().set("spark.sql.streaming.stateStore.providerClass", PROVIDERS + provider);
        Counted counted = Counted.fromNow();
        List<Row> rows = new ArrayList<>();
        for (int batch = 0; batch < BATCHES; batch++) {
            for (String source : sources) {
                add(source, batch);
            }
            if (batch == 0) {
                continue;
            }
            Dataset<Row> query = plan.apply(sources.stream().map(this::stream).toList());
            SortedMap<Long, List<Row>> output = process(query, mode);
            assertThat(output.keySet())
                    .as("micro-batches of this query")
                    .containsExactlyElementsOf(batch == 1 ? List.of(0L, 1L) : List.of(2L));
            output.values().forEach(rows::addAll);
        }
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                .as("%s", counted)
                .isPositive();
        return rows;
    }

    @ParameterizedTest
    @ValueSource(strings = {FILES, ROCKSDB})
    void shouldAggregate(String provider) throws Exception {
        List<Row> rows = processAll(
                provider,
                "update",
                List.of("events"),
                streams -> streams.get(0).groupBy("k").agg(count(lit(1)), sum("id")));
        Map<Integer, List<Long>> last = new HashMap<>();
        rows.forEach(row -> last.put(row.getInt(0), List.of(row.getLong(1), row.getLong(2))));
        Map<Integer, List<Long>> expected = new HashMap<>();
        for (int key = 0; key < KEYS; key++) {
            int k = key;
            int[] ids = allIds().filter(id -> id % KEYS == k).toArray();
            expected.put(
                    k,
                    List.of((long) ids.length, IntStream.of(ids).asLongStream().sum()));
        }
        assertThat(last).isEqualTo(expected);
    }

    @Test
    void shouldDropDuplicates() throws Exception {
        List<Row> rows = processAll(
                ROCKSDB, "append", List.of("events"), streams -> streams.get(0).dropDuplicates(new String[] {"id"}));
        assertThat(rows.stream().map(row -> row.getInt(0)).sorted())
                .isEqualTo(allIds().distinct().sorted().boxed().toList());
    }

    /** Every pair of equal ids, of whichever micro-batches. */
    @Test
    void shouldJoinStreams() throws Exception {
        List<Row> rows = processAll(
                FILES,
                "append",
                List.of("left", "right"),
                streams -> streams.get(0)
                        .select(col("id"), col("k"))
                        .join(streams.get(1).select(col("id"), col("k").as("k2")), "id"));
        Map<Integer, Long> expected = copies(allIds().boxed());
        expected.replaceAll((id, copies) -> copies * copies);
        assertThat(copies(rows.stream().map(row -> row.getInt(0)))).isEqualTo(expected);
        assertThat(rows)
                .allSatisfy(row ->
                        assertThat(row.getInt(1)).isEqualTo(row.getInt(2)).isEqualTo(row.getInt(0) % KEYS));
    }

    private static Map<Integer, Long> copies(Stream<Integer> ids) {
        return ids.collect(Collectors.groupingBy(id -> id, TreeMap::new, Collectors.counting()));
    }
}
