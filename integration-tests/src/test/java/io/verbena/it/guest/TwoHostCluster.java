package io.verbena.it.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.GuestHost;
import io.verbena.guest.JavaCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.deploy.master.Master;
import org.apache.spark.deploy.worker.Worker;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.shuffle.rdma.ExecutorProbe;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/**
 * A Spark application with an executor on each of the guest's hosts, for code inside the guest. Master, workers and driver share
 * this JVM, since JVMs start slowly there; the executors are processes of their own, bound to their host's address. Blocks do not
 * travel over mapped memory.
 *
 * <p>{@link #close} removes all shuffles, asserts that nothing is held and ends everything. Confined to one thread.
 */
public final class TwoHostCluster implements AutoCloseable {
    private static final int EXECUTORS = 2;

    /** Executors' logs, which outlive the guest. */
    private static final Path LOGS = Path.of("/exchange", "spark");

    private final List<RpcEnv> daemons = new ArrayList<>();
    private final SparkSession session;

    private TwoHostCluster(Path directory, Map<String, String> settings) throws IOException {
        SparkConf daemonConf = new SparkConf(false);
        RpcEnv master = Master.startRpcEnvAndEndpoint(GuestHost.A.address4(), 0, 0, daemonConf)
                ._1();
        daemons.add(master);
        String url =
                "spark://" + GuestHost.A.address4() + ":" + master.address().port();
        for (GuestHost host : GuestHost.values()) {
            daemons.add(Worker.startRpcEnvAndEndpoint(
                    host.address4(),
                    0,
                    0,
                    1,
                    1024,
                    new String[] {url},
                    LOGS.resolve("work" + host).toString(),
                    Option.apply(daemons.size()),
                    daemonConf,
                    Option.empty()));
        }
        SparkConf conf = new SparkConf(false)
                .setMaster(url)
                .setAppName("verbena-guest")
                .set("spark.shuffle.manager", "org.apache.spark.shuffle.rdma.RdmaShuffleManager")
                .set("spark.driver.host", GuestHost.A.address4())
                .set("spark.ui.enabled", "false")
                .set("spark.executor.memory", "512m")
                .set("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                .set(
                        "spark.executor.extraJavaOptions",
                        System.getProperty("spark.jvm.opens") + " " + String.join(" ", JavaCommand.OPTIONS))
                // Tasks start when both executors are there, so that each has somebody to read from.
                .set("spark.scheduler.minRegisteredResourcesRatio", "1.0")
                .set("spark.scheduler.maxRegisteredResourcesWaitingTime", "300s")
                .set("spark.network.timeout", "300s")
                .set("spark.local.dir", directory.resolve("local").toString())
                .set("spark.sql.warehouse.dir", directory.resolve("warehouse").toString())
                .set("spark.sql.shuffle.partitions", "2")
                // Generated code costs more to compile there than it saves.
                .set("spark.sql.codegen.wholeStage", "false")
                .set("spark.sql.adaptive.enabled", "false")
                .set("spark.shuffle.rdma.mapped.enabled", "false")
                .set("spark.shuffle.rdma.memory.size", "128m")
                .set("spark.shuffle.rdma.memory.segmentSize", "16m")
                .set("spark.shuffle.rdma.memory.prewarm", "0");
        settings.forEach(conf::set);
        session = SparkSession.builder().config(conf).getOrCreate();
    }

    /**
     * Starts everything.
     *
     * @param settings added to, or in place of, what every test starts from
     */
    public static TwoHostCluster start(Map<String, String> settings) throws IOException {
        Files.createDirectories(Path.of(System.getenv("SPARK_HOME"), "jars"));
        return new TwoHostCluster(Files.createTempDirectory("verbena-two-hosts-"), settings);
    }

    /** Returns the driver's session. */
    public SparkSession sql() {
        return session;
    }

    /** Returns the driver's context. */
    public JavaSparkContext context() {
        return JavaSparkContext.fromSparkContext(session.sparkContext());
    }

    /** Returns what each executor holds and has counted. */
    public List<ExecutorProbe.State> states() {
        return ExecutorProbe.states(context(), EXECUTORS);
    }

    @Override
    public void close() throws IOException {
        try {
            assertThat(ExecutorProbe.statesAfterRemovingAll(context(), EXECUTORS))
                    .hasSize(EXECUTORS)
                    .allSatisfy(state -> assertThat(state.leases()
                                    + state.leasedBytes()
                                    + state.quarantinedBytes()
                                    + state.peerLeases())
                            .as("what is still held: %s", state)
                            .isZero());
        } finally {
            session.stop();
            Collections.reverse(daemons);
            for (RpcEnv daemon : daemons) {
                daemon.shutdown();
                daemon.awaitTermination();
            }
        }
    }
}
