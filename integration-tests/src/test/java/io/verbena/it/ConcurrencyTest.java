package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaPairRDD;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** Many shuffles at once, and shuffles that are removed while others are written and read. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 240, unit = TimeUnit.SECONDS)
@Tag("slow")
class ConcurrencyTest {
    private static final int RECORDS = 3000;
    private static final int THREADS = 5;
    private static final int JOBS = 4;

    private Cluster cluster;

    @BeforeAll
    void start() {
        cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                        "spark.scheduler.mode", "FAIR",
                        "spark.shuffle.rdma.lease.idle", "100ms"));
    }

    @AfterAll
    void close() {
        if (cluster != null) {
            try (Cluster closing = cluster) {
                closing.assertNoFetchFailures();
            }
        }
    }

    @BeforeEach
    void removeAllShuffles() {
        cluster.assertNothingHeld();
    }

    private JavaPairRDD<Integer, Integer> sums(int seed) {
        return cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 3)
                .mapToPair(i -> new Tuple2<>(i % 37, i * seed))
                .reduceByKey(Integer::sum, 4);
    }

    private static Map<Integer, Integer> expected(int seed) {
        return IntStream.range(0, RECORDS)
                .boxed()
                .collect(Collectors.groupingBy(i -> i % 37, Collectors.summingInt(i -> i * seed)));
    }

    private static void remove(JavaPairRDD<Integer, Integer> shuffled) {
        int shuffleId =
                ((ShuffleDependency<?, ?, ?>) shuffled.rdd().dependencies().apply(0)).shuffleId();
        SparkEnv.get().blockManager().master().removeShuffle(shuffleId, true);
    }

    @Test
    void shouldRunJobsAtOnceWhileOthersAreRemoved() throws Exception {
        Counted counted = Counted.fromNow();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Future<Map<Integer, Integer>>> answers = new ArrayList<>();
            for (int job = 0; job < THREADS * JOBS; job++) {
                int seed = job + 1;
                answers.add(threads.submit(() -> {
                    JavaPairRDD<Integer, Integer> shuffled = sums(seed);
                    Map<Integer, Integer> first = shuffled.collectAsMap();
                    remove(shuffled);
                    return first;
                }));
            }
            for (int job = 0; job < answers.size(); job++) {
                assertThat(answers.get(job).get(200, TimeUnit.SECONDS))
                        .as("job %s", job)
                        .isEqualTo(expected(job + 1));
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                .as("%s", counted)
                .isPositive();
        // All were removed: once the readers' leases have lapsed the memory is free, without help from the test.
        assertThat(Await.within(
                        30,
                        () -> cluster.states().stream()
                                .allMatch(state -> state.leasedBytes() == 0 && state.peerLeases() == 0)))
                .as("states: %s", cluster.states())
                .isTrue();
    }

    @Test
    void shouldReadManyShufflesInOneStage() {
        Counted counted = Counted.fromNow();
        JavaPairRDD<Integer, Integer> union = sums(1);
        for (int seed = 2; seed <= 12; seed++) {
            union = union.union(sums(seed));
        }
        assertThat(union.coalesce(4)
                        .mapToPair(sum -> sum)
                        .reduceByKey(Integer::sum, 3)
                        .collectAsMap())
                .isEqualTo(expected(IntStream.rangeClosed(1, 12).sum()));
        assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                .as("%s", counted)
                .isPositive();
    }
}
