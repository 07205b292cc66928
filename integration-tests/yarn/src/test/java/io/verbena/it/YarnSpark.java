package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What a user of a YARN cluster has: an installation of Spark whose defaults are the template in {@code conf/}, and the jar.
 * {@link #close} asserts that an application leaves nothing, neither in shared memory nor with the node managers.
 */
final class YarnSpark implements AutoCloseable {
    /** Executor's heap in these tests. */
    static final int HEAP_MIB = 512;

    /** What Spark gives beside such a heap by default. */
    static final int PLAIN_OVERHEAD_MIB = 384;

    /** Of the one map task that an executor runs here. */
    private static final int STAGING_MIB = 8;

    private final HadoopCluster hadoop;
    private final SparkHome home;
    private final SparkProcesses processes;
    private final Path jar;
    private final Path application;
    private final Path sharedMemory;

    private YarnSpark(HadoopCluster hadoop, Path directory, Path sharedMemory) throws IOException {
        this.hadoop = hadoop;
        this.sharedMemory = sharedMemory;
        jar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(jar).as("made by the package phase of shuffle-manager").isRegularFile();
        application = ApplicationJar.write(directory.resolve("app.jar"), YarnApp.class, Signal.class, Waiting.class);
        home = SparkHome.install(directory.resolve("spark"), Pattern.compile("hadoop-client-minicluster.*"));
        Files.copy(
                Path.of(System.getProperty("verbena.conf"), "spark-defaults-yarn.conf"),
                home.conf().resolve("spark-defaults.conf"),
                StandardCopyOption.REPLACE_EXISTING);
        processes = new SparkProcesses(home, directory);
    }

    static YarnSpark on(HadoopCluster hadoop, Path directory) throws IOException {
        return new YarnSpark(hadoop, directory, Files.createTempDirectory(Path.of("/dev/shm"), "verbena-it-"));
    }

    /** Where executors have their shared memory files. */
    Path sharedMemory() {
        return sharedMemory;
    }

    /** Sizes that fit a test, with the overhead that the template's comment asks for. */
    static Map<String, String> sizes(int memoryMib) {
        return sizes(memoryMib, PLAIN_OVERHEAD_MIB + memoryMib + STAGING_MIB);
    }

    static Map<String, String> sizes(int memoryMib, int overheadMib) {
        return Map.of(
                "spark.executor.memory", HEAP_MIB + "m",
                "spark.executor.memoryOverhead", overheadMib + "m",
                "spark.shuffle.rdma.memory.size", memoryMib + "m");
    }

    /** Submits an application to the cluster, as {@code spark-submit} does. */
    SparkProcesses.Running submit(String name, String deployMode, Map<String, String> settings, String... arguments)
            throws IOException {
        return submit(name, List.of("--master", "yarn", "--deploy-mode", deployMode), settings, arguments);
    }

    /** Runs an application in one JVM with Spark's own shuffle. */
    SparkProcesses.Running local(String name, String... arguments) throws IOException {
        return submit(name, List.of("--master", "local[2]"), Map.of("spark.shuffle.manager", "sort"), arguments);
    }

    private SparkProcesses.Running submit(
            String name, List<String> options, Map<String, String> settings, String... arguments) throws IOException {
        String java = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1";
        Map<String, String> conf = new LinkedHashMap<>();
        // All nodes are this host, so Spark's own jars need not travel.
        conf.put("spark.yarn.jars", "local:" + home.jars() + "/*");
        conf.put("spark.yarn.maxAppAttempts", "1");
        conf.put("spark.executor.instances", "2");
        conf.put("spark.executor.cores", "1");
        conf.put("spark.driver.memory", "512m");
        conf.put("spark.driver.extraJavaOptions", java);
        conf.put("spark.executor.extraJavaOptions", java);
        conf.put("spark.yarn.am.extraJavaOptions", java);
        conf.put("spark.yarn.appMasterEnv.SPARK_LOCAL_IP", "127.0.0.1");
        conf.put("spark.executorEnv.SPARK_LOCAL_IP", "127.0.0.1");
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.scheduler.minRegisteredResourcesRatio", "1.0");
        conf.put("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s");
        conf.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        conf.put("spark.sql.shuffle.partitions", "4");
        conf.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        conf.put("spark.shuffle.rdma.memory.shmDirectory", sharedMemory.toString());
        conf.putAll(settings);
        List<String> command = new ArrayList<>(List.of("org.apache.spark.deploy.SparkSubmit"));
        command.addAll(options);
        command.addAll(List.of("--jars", jar.toString()));
        conf.forEach((key, value) -> command.addAll(List.of("--conf", key + "=" + value)));
        command.addAll(List.of("--class", YarnApp.class.getName(), application.toString()));
        command.addAll(List.of(arguments));
        String hadoopConf = hadoop.configuration().toString();
        return processes.start(
                name, List.of(hadoopConf), Map.of("HADOOP_CONF_DIR", hadoopConf), command.toArray(String[]::new));
    }

    /**
     * Starts a shuffle service that executors on this host find, as they do the one inside a node manager.
     *
     * @return its port
     */
    int startShuffleService() throws IOException {
        int port = SparkProcesses.freePort();
        processes
                .start(
                        "service-daemon",
                        List.of(),
                        Map.of(),
                        "-Dspark.shuffle.service.enabled=true",
                        "-Dspark.shuffle.service.port=" + port,
                        "org.apache.spark.deploy.ExternalShuffleService")
                .log()
                .await("Starting shuffle service on port " + port);
        return port;
    }

    /** Asserts that the application which has ended has left nothing. */
    void assertNothingLeft() {
        assertThat(Waiting.within(30, () -> hadoop.applicationFolders().isEmpty()))
                .as("folders of applications: %s", hadoop.applicationFolders())
                .isTrue();
        assertThat(Waiting.within(20, () -> Cluster.files(sharedMemory).isEmpty()))
                .as("files left: %s", Cluster.files(sharedMemory))
                .isTrue();
    }

    @Override
    public void close() {
        try {
            processes.close();
            assertNothingLeft();
        } finally {
            Cluster.remove(sharedMemory);
        }
    }
}
