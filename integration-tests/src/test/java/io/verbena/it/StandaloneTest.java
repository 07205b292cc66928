package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The jar that users get, on a standalone cluster of two workers with addresses of their own: a submitted application, whose class
 * path has Spark and nothing of ours. Two hosts, as Spark sees it, are also what speculative execution asks for.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("slow")
class StandaloneTest {
    private static final Pattern NOTHING = Pattern.compile("");

    private SparkProcesses processes;

    private Path sharedMemory;
    private Path jar;
    private Path app;
    private String master;

    @BeforeAll
    void start(@TempDir Path temporary) throws IOException {
        jar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(jar).as("made by the package phase of shuffle-manager").isRegularFile();
        sharedMemory = Files.createTempDirectory(Path.of("/dev/shm"), "verbena-it-");
        app = ApplicationJar.write(temporary.resolve("app.jar"), StandaloneApp.class);
        processes = new SparkProcesses(SparkHome.install(temporary.resolve("spark"), NOTHING), temporary);
        int port = SparkProcesses.freePort();
        master = "spark://127.0.0.1:" + port;
        processes
                .start(
                        "master",
                        List.of(),
                        Map.of(),
                        "org.apache.spark.deploy.master.Master",
                        "--host",
                        "127.0.0.1",
                        "--port",
                        Integer.toString(port),
                        "--webui-port",
                        "0")
                .log()
                .await("I have been elected leader");
        for (int worker = 1; worker <= 2; worker++) {
            processes
                    .start(
                            "worker" + worker,
                            List.of(),
                            Map.of(),
                            "org.apache.spark.deploy.worker.Worker",
                            "--host",
                            "127.0.0." + worker,
                            "--cores",
                            "1",
                            "--memory",
                            "1g",
                            "--webui-port",
                            "0",
                            "--work-dir",
                            temporary.resolve("work" + worker).toString(),
                            master)
                    .log()
                    .await("Successfully registered with master");
        }
    }

    @AfterAll
    void stop() throws Exception {
        if (processes != null) {
            processes.close();
        }
        if (sharedMemory != null) {
            assertThat(Cluster.within(20, () -> Cluster.files(sharedMemory).isEmpty()))
                    .as("files left: %s", Cluster.files(sharedMemory))
                    .isTrue();
            Cluster.remove(sharedMemory);
        }
    }

    private List<String> submit(String name, String extraClassPath, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of("org.apache.spark.deploy.SparkSubmit", "--master", master));
        Map<String, String> conf = Map.ofEntries(
                Map.entry("spark.shuffle.manager", Cluster.OURS),
                Map.entry("spark.shuffle.rdma.memory.size", "128m"),
                Map.entry("spark.shuffle.rdma.memory.segmentSize", "16m"),
                Map.entry("spark.shuffle.rdma.memory.prewarm", "0"),
                Map.entry("spark.shuffle.rdma.memory.shmDirectory", sharedMemory.toString()),
                Map.entry("spark.serializer", "org.apache.spark.serializer.KryoSerializer"),
                Map.entry("spark.driver.host", "127.0.0.1"),
                Map.entry("spark.ui.enabled", "false"),
                Map.entry("spark.executor.memory", "512m"),
                Map.entry("spark.speculation", "true"),
                Map.entry("spark.speculation.quantile", "0.5"),
                Map.entry("spark.speculation.minTaskRuntime", "1s"),
                Map.entry("spark.scheduler.minRegisteredResourcesRatio", "1.0"),
                Map.entry("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s"),
                Map.entry("spark.sql.shuffle.partitions", "4"),
                Map.entry(
                        "spark.executor.extraJavaOptions",
                        System.getProperty("spark.jvm.opens") + " -XX:+UseSerialGC -XX:TieredStopAtLevel=1"));
        conf.forEach((key, value) -> command.addAll(List.of("--conf", key + "=" + value)));
        command.addAll(List.of(options));
        command.addAll(List.of("--class", StandaloneApp.class.getName(), app.toString()));
        SparkProcesses.Running driver = processes.start(
                name,
                extraClassPath.isEmpty() ? List.of() : List.of(extraClassPath),
                Map.of(),
                command.toArray(String[]::new));
        assertThat(driver.endsWell(150))
                .as("%s ended well; %s", name, driver.log())
                .isTrue();
        return driver.log().lines();
    }

    private static void assertRan(List<String> log) {
        List<String> expected = new ArrayList<>();
        for (int k = 0; k < 5; k++) {
            int remainder = k;
            expected.add("[" + k + ","
                    + IntStream.range(0, 10000).filter(i -> i % 5 == remainder).sum() + "]");
        }
        for (int k = 0; k < 3; k++) {
            int remainder = k;
            expected.add("(" + k + ","
                    + IntStream.range(0, 3000).filter(i -> i % 3 == remainder).sum() + ")");
        }
        expected.add("speculative " + IntStream.range(0, 3000).sum());
        assertThat(log.stream()
                        .filter(line -> line.startsWith(StandaloneApp.RESULT))
                        .map(line -> line.substring(StandaloneApp.RESULT.length())))
                .isEqualTo(expected);
        assertThat(log)
                .as("memory was used")
                .anyMatch(line -> line.matches(".*shuffle summary of the application: .*writtenInMemoryBytes=[1-9].*")
                        && line.matches(".*readMappedBytes=[1-9].*")
                        && !line.contains("fetchFailures"));
        assertThat(log)
                .as("a speculative copy ran")
                .anyMatch(line -> line.matches(".*speculat.*attempt.*|.*Marking task.*speculat.*"));
    }

    @Test
    void shouldLoadTheManagerFromJarsOfTheApplication() throws Exception {
        assertRan(submit("jars", "", "--jars", jar.toString()));
    }

    @Test
    void shouldLoadTheManagerFromTheClassPath() throws Exception {
        // What spark-submit's script makes of spark.driver.extraClassPath: the class path of the JVM that it starts.
        assertRan(submit("class-path", jar.toString(), "--conf", "spark.executor.extraClassPath=" + jar));
    }
}
