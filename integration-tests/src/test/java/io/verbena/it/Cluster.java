package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Await;
import io.verbena.it.process.SharedMemory;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.apache.spark.sql.SparkSession;
import scala.collection.Iterator;

/**
 * A Spark application for a test, in this JVM or with executors of its own. {@link #close} removes all shuffles and asserts that
 * nothing is leased, and after the end of the executors that no file is left.
 */
final class Cluster implements AutoCloseable {
    static final String OURS = "org.apache.spark.shuffle.rdma.RdmaShuffleManager";
    static final String SORT = "sort";

    /** Where this application's shared memory files lie, apart from those of other tests. */
    private final SharedMemory sharedMemory;

    private final SparkSession session;
    private final int executors;
    private final boolean ours;

    private Cluster(SparkSession session, int executors, boolean ours, SharedMemory sharedMemory) {
        this.session = session;
        this.executors = executors;
        this.ours = ours;
        this.sharedMemory = sharedMemory;
    }

    /** Settings that every test starts from. */
    static Map<String, String> settings(String... keysAndValues) {
        Map<String, String> settings = new HashMap<>();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            settings.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return settings;
    }

    /** Starts an application with tasks in this JVM. */
    static Cluster local(String manager, Map<String, String> settings) {
        return start("local[2]", 1, manager, settings);
    }

    /** Starts an application with two executors of one core. */
    static Cluster twoExecutors(String manager, Map<String, String> settings) {
        return executors(2, manager, settings);
    }

    /** Starts an application with room for that many executors of one core. */
    static Cluster executors(int count, String manager, Map<String, String> settings) {
        try {
            Files.createDirectories(Path.of(System.getenv("SPARK_HOME"), "jars"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return start("local-cluster[" + count + ",1,1024]", count, manager, settings);
    }

    /**
     * Starts an application on a master that is there already.
     *
     * @param executors how many the master gives, of one core each
     */
    static Cluster start(String master, int executors, String manager, Map<String, String> settings) {
        SharedMemory sharedMemory = null;
        boolean started = false;
        try {
            sharedMemory = SharedMemory.create();
            SparkConf conf = new SparkConf(false)
                    .setMaster(master)
                    .setAppName("verbena-it")
                    .set("spark.shuffle.manager", manager)
                    .set("spark.driver.host", "127.0.0.1")
                    .set("spark.ui.enabled", "false")
                    .set("spark.executor.memory", "1g")
                    .set("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                    .set(
                            "spark.executor.extraJavaOptions",
                            System.getProperty("spark.jvm.opens")
                                    // Executors live for seconds: the second compiler costs more than it gives.
                                    + " -XX:+UseSerialGC -XX:TieredStopAtLevel=1")
                    // Tasks start when all executors are there, so that every test has somebody to read from.
                    .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
                    .set("spark.scheduler.maxRegisteredResourcesWaitingTime", "180s")
                    .set("spark.sql.shuffle.partitions", "8")
                    .set(
                            "spark.sql.warehouse.dir",
                            Path.of("target", "warehouse").toAbsolutePath().toString())
                    .set(
                            "spark.shuffle.rdma.memory.shmDirectory",
                            sharedMemory.directory().toString())
                    .set("spark.shuffle.rdma.memory.size", "256m")
                    .set("spark.shuffle.rdma.memory.segmentSize", "16m")
                    .set("spark.shuffle.rdma.memory.prewarm", "0")
                    .set("spark.shuffle.rdma.memory.leakTracking", "exact")
                    .set("spark.shuffle.rdma.fetch.timeout", "30s");
            settings.forEach(conf::set);
            if (!manager.equals(OURS)) {
                for (scala.Tuple2<String, String> setting : conf.getAll()) {
                    if (setting._1().startsWith("spark.shuffle.rdma.")) {
                        conf.remove(setting._1());
                    }
                }
            }
            SparkSession session = SparkSession.builder().config(conf).getOrCreate();
            started = true;
            return new Cluster(session, executors, manager.equals(OURS), sharedMemory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            if (!started && sharedMemory != null) {
                sharedMemory.remove();
            }
        }
    }

    SparkSession sql() {
        return session;
    }

    JavaSparkContext context() {
        return JavaSparkContext.fromSparkContext(session.sparkContext());
    }

    SharedMemory sharedMemory() {
        return sharedMemory;
    }

    List<ExecutorProbe.State> states() {
        awaitExecutors();
        return ExecutorProbe.states(context(), executors);
    }

    /** The executors that are registered now. */
    List<String> executorIds() {
        List<String> ids = new ArrayList<>();
        Iterator<String> registered = session.sparkContext().getExecutorIds().iterator();
        while (registered.hasNext()) {
            ids.add(registered.next());
        }
        return ids;
    }

    /** Waits until all executors are there, also those that replace lost ones; in local mode there are none. */
    void awaitExecutors() {
        assertThat(executors == 1 || Await.within(90, () -> executorIds().size() == executors))
                .as("executors: %s", executorIds())
                .isTrue();
    }

    /** Asserts that no fetch was given up so far. Failed tasks count on their executor only, not in the driver's totals. */
    void assertNoFetchFailures() {
        assertThat(states())
                .hasSize(executors)
                .allSatisfy(state -> assertThat(state.counter(ShuffleCounter.FETCH_FAILURES))
                        .as("failed fetches of %s", state)
                        .isZero());
    }

    /** Removes every shuffle and asserts that executors then hold no memory and no lease. */
    void assertNothingHeld() {
        awaitExecutors();
        List<ExecutorProbe.State> states = ExecutorProbe.statesAfterRemovingAll(context(), executors);
        assertThat(states).hasSize(executors).allSatisfy(state -> {
            assertThat(state.leases()).as("leases of %s", state).isZero();
            assertThat(state.leasedBytes()).as("leased bytes of %s", state).isZero();
            assertThat(state.quarantinedBytes())
                    .as("quarantined bytes of %s", state)
                    .isZero();
            assertThat(state.peerLeases()).as("leases on peers of %s", state).isZero();
        });
    }

    /** With dynamic allocation there are no barrier tasks, and nobody says how many executors there are. */
    private boolean comeAndGo() {
        return session.sparkContext().conf().getBoolean("spark.dynamicAllocation.enabled", false);
    }

    @Override
    public void close() {
        try {
            if (ours && !session.sparkContext().isStopped() && !comeAndGo()) {
                assertNothingHeld();
            }
        } finally {
            session.stop();
        }
        sharedMemory.close();
    }
}
