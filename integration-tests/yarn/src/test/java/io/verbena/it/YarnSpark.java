package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.AppJar;
import io.verbena.it.process.Await;
import io.verbena.it.process.Messages;
import io.verbena.it.process.SharedMemory;
import io.verbena.it.process.SparkInstallation;
import io.verbena.it.process.SparkProcess;
import io.verbena.it.process.Submission;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What a user of a YARN cluster has: an installation of Spark whose defaults are the template in {@code conf/}, and the jar.
 * {@link #close} asserts that an application leaves nothing, neither in shared memory nor with the node managers.
 */
final class YarnSpark implements AutoCloseable {
    private static final int HEAP_MIB = 512;

    /** What Spark gives beside such a heap by default. */
    static final int PLAIN_OVERHEAD_MIB = 384;

    /** Of the one map task that an executor runs here. */
    private static final int STAGING_MIB = 8;

    /** What is no part of an installation of Spark: ours, and Hadoop's daemons. */
    private static final String FOREIGN_JARS = "(verbena|rdma-buffers|hadoop-client-minicluster).*";

    private final HadoopCluster hadoop;
    private final SparkInstallation spark;
    private final Path jar;
    private final Path application;
    private final SharedMemory sharedMemory;

    private YarnSpark(HadoopCluster hadoop, Path directory, SharedMemory sharedMemory) throws IOException {
        this.hadoop = hadoop;
        this.sharedMemory = sharedMemory;
        jar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(jar).as("made by the package phase of shuffle-manager").isRegularFile();
        Files.createDirectories(directory);
        application = AppJar.write(directory.resolve("app.jar"), YarnApp.class, Messages.class, Await.class);
        List<String> jvmOptions =
                new ArrayList<>(List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        jvmOptions.add(LoopbackHosts.jvmOption());
        spark = new SparkInstallation(
                        directory.resolve("spark"),
                        sparkJars(),
                        System.getenv("SPARK_SCALA_VERSION"),
                        Path.of(System.getProperty("java.home")),
                        jvmOptions)
                .hadoop(hadoop.configuration())
                .defaults(Path.of(System.getProperty("verbena.conf"), "spark-defaults-yarn.conf"));
    }

    static YarnSpark on(HadoopCluster hadoop, Path directory) throws IOException {
        return new YarnSpark(hadoop, directory, SharedMemory.create());
    }

    /** The jars that this JVM has. */
    private static List<Path> sparkJars() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .map(Path::of)
                .filter(file -> file.toString().endsWith(".jar"))
                .filter(file -> !file.getFileName().toString().matches(FOREIGN_JARS))
                .toList();
    }

    /** Where executors have their shared memory files. */
    SharedMemory sharedMemory() {
        return sharedMemory;
    }

    /** Sizes that fit a test, with the overhead that the template's comment asks for. */
    static Map<String, String> sizes(int memoryMib) {
        return sizes(memoryMib, PLAIN_OVERHEAD_MIB + memoryMib + STAGING_MIB);
    }

    static Map<String, String> sizes(int memoryMib, int overheadMib) {
        return Map.of(
                "spark.executor.memoryOverhead", overheadMib + "m",
                "spark.shuffle.rdma.memory.size", memoryMib + "m");
    }

    /** Submits an application to the cluster, as {@code spark-submit} does. */
    SparkProcess submit(String name, String deployMode, Map<String, String> settings, String... arguments)
            throws IOException {
        String java = SparkInstallation.SMALL_JVM + " " + LoopbackHosts.jvmOption();
        // Executors use their whole heap from the start, as those of a busy job do after a while.
        String fullHeap = " -Xms" + HEAP_MIB + "m -XX:+AlwaysPreTouch";
        Submission submission = new Submission(name, "yarn", YarnApp.class, application)
                .options("--deploy-mode", deployMode)
                // The template's, where it lies here.
                .conf("spark.jars", jar.toString())
                // All nodes are this host, so Spark's own jars need not travel.
                .conf("spark.yarn.jars", "local:" + spark.jars() + "/*")
                .conf("spark.yarn.maxAppAttempts", "1")
                .conf("spark.executor.instances", "2")
                .conf("spark.executor.cores", "1")
                .conf("spark.driver.memory", "512m")
                .conf("spark.driver.extraJavaOptions", java)
                .conf("spark.executor.memory", HEAP_MIB + "m")
                .conf("spark.executor.extraJavaOptions", java + fullHeap)
                .conf("spark.yarn.am.extraJavaOptions", java)
                .conf("spark.yarn.appMasterEnv.SPARK_LOCAL_IP", "127.0.0.1")
                .conf("spark.executorEnv.SPARK_LOCAL_IP", "127.0.0.1")
                .conf("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .conf("spark.sql.autoBroadcastJoinThreshold", "-1")
                .conf(
                        "spark.shuffle.rdma.memory.shmDirectory",
                        sharedMemory.directory().toString())
                .arguments(arguments);
        settings.forEach(submission::conf);
        return spark.start(submission);
    }

    /** Asserts that the application which has ended has left nothing. */
    void assertNothingLeft() {
        assertThat(Await.within(30, () -> hadoop.applicationFolders().isEmpty()))
                .as("folders of applications: %s", hadoop.applicationFolders())
                .isTrue();
        assertThat(Await.within(20, () -> sharedMemory.files().isEmpty()))
                .as("files left: %s", sharedMemory.files())
                .isTrue();
    }

    @Override
    public void close() throws IOException {
        try {
            spark.close();
        } finally {
            sharedMemory.close();
        }
    }
}
