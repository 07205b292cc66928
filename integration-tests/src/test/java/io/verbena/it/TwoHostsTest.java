package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.GuestHost;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import scala.Tuple2;

/**
 * One application on the guest's two hosts, whose executors have a device each and nothing else in common: blocks travel by RDMA Read.
 * Mapping is off, since to the kernel both hosts are one.
 */
@Tag("guest")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TwoHostsTest {
    private static final int START_SECONDS = 300;
    private static final int EXECUTORS = GuestHost.values().length;
    private static final int ORDERS = 8_000;
    private static final int NAMES = 500;
    private static final int GROUPS = 13;
    private static final int RECORDS = 8_000;
    private static final int KEYS = 997;

    private Cluster cluster;

    @BeforeAll
    @Timeout(START_SECONDS)
    void start(@TempDir Path directory) {
        cluster = Cluster.start(
                TwoHostsManager.MASTER,
                EXECUTORS,
                Cluster.OURS,
                Cluster.settings(
                        "spark.driver.host",
                        GuestHost.A.address4(),
                        "spark.driver.bindAddress",
                        GuestHost.A.address4(),
                        "spark.local.dir",
                        directory.toString(),
                        "spark.serializer",
                        "org.apache.spark.serializer.KryoSerializer",
                        // A task goes to whichever executor is free, so both have outputs and both read.
                        "spark.locality.wait",
                        "0",
                        // Compilers are slow on an emulated processor, and the shuffle does not see the difference.
                        "spark.sql.codegen.wholeStage",
                        "false",
                        "spark.sql.codegen.factoryMode",
                        "NO_CODEGEN",
                        "spark.sql.adaptive.enabled",
                        "false",
                        "spark.scheduler.maxRegisteredResourcesWaitingTime",
                        START_SECONDS + "s",
                        "spark.shuffle.rdma.mapped.enabled",
                        "false",
                        // Nothing that a slow machine leaves idle is given back between two runs that are compared.
                        "spark.shuffle.rdma.memory.trimIdle",
                        "1h",
                        "spark.shuffle.rdma.fetch.timeout",
                        "120s"));
        TpcdsData.stored().register(cluster.sql(), TpcdsData.QUERIES);
        // One for each executor.
        cluster.sql().conf().set("spark.sql.shuffle.partitions", EXECUTORS);
    }

    @AfterAll
    @Timeout(120)
    void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** Joins orders with names, groups and sorts: exchanges of rows. */
    private List<String> query() {
        return cluster
                .sql()
                .sql("SELECT o.g, count(*), sum(o.id), max(n.name)"
                        + " FROM (SELECT id, id % 1000 AS k, id % " + GROUPS + " AS g FROM range(0, " + ORDERS
                        + ", 1, 4)) o"
                        + " JOIN (SELECT id AS k, concat('name ', id) AS name FROM range(0, " + NAMES
                        + ", 1, 4)) n ON o.k = n.k"
                        + " GROUP BY o.g ORDER BY o.g")
                .collectAsList()
                .stream()
                .map(Object::toString)
                .toList();
    }

    private static List<String> queryResult() {
        List<String> rows = new ArrayList<>();
        for (int group = 0; group < GROUPS; group++) {
            int g = group;
            int[] ids = IntStream.range(0, ORDERS)
                    .filter(id -> id % GROUPS == g && id % 1000 < NAMES)
                    .toArray();
            rows.add("[" + g + "," + ids.length + ","
                    + IntStream.of(ids).asLongStream().sum() + ","
                    + IntStream.of(ids)
                            .mapToObj(id -> "name " + id % 1000)
                            .max(String::compareTo)
                            .orElseThrow()
                    + "]");
        }
        return rows;
    }

    /** Adds records up by key and sorts them: objects that Kryo writes. */
    private List<Tuple2<Integer, Long>> records() {
        return cluster.context()
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 4)
                .mapToPair(i -> new Tuple2<>(i % KEYS, (long) i))
                .reduceByKey(Long::sum, EXECUTORS)
                .sortByKey()
                .collect();
    }

    private static List<Tuple2<Integer, Long>> recordsResult() {
        return IntStream.range(0, KEYS)
                .mapToObj(key -> new Tuple2<>(
                        key,
                        IntStream.range(0, RECORDS)
                                .filter(i -> i % KEYS == key)
                                .asLongStream()
                                .sum()))
                .toList();
    }

    private static void assertReadByRdma(Counted counted) {
        assertThat(counted.of(ShuffleCounter.READ_RDMA_BYTES))
                .as("bytes by RDMA: %s", counted)
                .isPositive();
        assertThat(List.of(
                        counted.of(ShuffleCounter.READ_NETTY_BYTES),
                        counted.of(ShuffleCounter.READ_MAPPED_BYTES),
                        counted.of(ShuffleCounter.READ_RETRIES)))
                .as("bytes by Netty and by mapping, retries: %s", counted)
                .containsOnly(0L);
    }

    /** Packets that came to a host's device, as the kernel counts them. */
    private static long packets(GuestHost host) throws IOException {
        return Long.parseLong(Files.readString(
                        Path.of("/sys/class/infiniband", host.deviceName(), "ports", "1", "hw_counters", "rcvd_pkts"))
                .strip());
    }

    @Test
    @Order(1)
    void shouldReadBetweenTheHostsByRdma() throws IOException {
        long[] packets = {packets(GuestHost.A), packets(GuestHost.B)};
        Counted counted = Counted.fromNow();
        assertThat(query()).isEqualTo(queryResult());
        assertThat(records()).isEqualTo(recordsResult());
        assertReadByRdma(counted);

        List<ExecutorProbe.State> states = cluster.states();
        assertThat(states).hasSize(EXECUTORS).allSatisfy(state -> {
            assertThat(state.hasVerbs()).as("device of %s", state).isTrue();
            assertThat(state.counter(ShuffleCounter.READ_RDMA_BYTES))
                    .as("bytes by RDMA of %s", state)
                    .isPositive()
                    .isLessThanOrEqualTo(state.verbsReadBytes());
            assertThat(state.verbsConnects()).as("connections of %s", state).isPositive();
            assertThat(state.verbsAccepts()).as("readers of %s", state).isPositive();
            assertThat(state.verbsConnectionFailures())
                    .as("broken connections of %s", state)
                    .isZero();
        });
        cluster.assertNoFetchFailures();
        // The kernel's word that the devices talked to one another.
        assertThat(packets(GuestHost.A)).isGreaterThan(packets[0]);
        assertThat(packets(GuestHost.B)).isGreaterThan(packets[1]);
    }

    /** The first run was the first test's. */
    @Test
    @Order(2)
    void shouldRegisterNothingOnceWarm() {
        List<List<Long>> registrations = new ArrayList<>();
        for (int run = 2; run <= 3; run++) {
            Counted counted = Counted.fromNow();
            assertThat(query()).isEqualTo(queryResult());
            assertThat(records()).isEqualTo(recordsResult());
            assertReadByRdma(counted);
            registrations.add(ExecutorProbe.statesAfterRemovingAll(cluster.context(), EXECUTORS).stream()
                    .map(ExecutorProbe.State::registrations)
                    .sorted()
                    .toList());
        }
        assertThat(registrations.get(0)).hasSize(EXECUTORS).allMatch(count -> count > 0);
        assertThat(registrations.get(1))
                .as("registrations by run: %s", registrations)
                .isEqualTo(registrations.get(0));
    }

    @ParameterizedTest
    @Order(3)
    @FieldSource("io.verbena.it.TpcdsData#QUERIES")
    void shouldGiveSparksTpcdsResults(String query) throws IOException {
        Counted counted = Counted.fromNow();
        assertThat(TpcdsData.stored().compare(cluster.sql(), query))
                .as("differences of %s", query)
                .isEmpty();
        assertThat(TpcdsData.stored().rowCount(query)).as("rows of %s", query).isPositive();
        assertReadByRdma(counted);
    }
}
