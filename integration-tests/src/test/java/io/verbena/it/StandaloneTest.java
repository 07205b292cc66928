package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.AppJar;
import io.verbena.it.process.Ports;
import io.verbena.it.process.SharedMemory;
import io.verbena.it.process.SparkInstallation;
import io.verbena.it.process.Submission;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
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
    private SparkInstallation spark;
    private SharedMemory sharedMemory;
    private Path jar;
    private Path app;
    private String master;

    @BeforeAll
    void start(@TempDir Path directory) throws IOException {
        jar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(jar).as("made by the package phase of shuffle-manager").isRegularFile();
        sharedMemory = SharedMemory.create();
        app = AppJar.write(directory.resolve("app.jar"), StandaloneApp.class);
        spark = new SparkInstallation(
                directory.resolve("spark"),
                sparkJars(),
                System.getenv("SPARK_SCALA_VERSION"),
                Path.of(System.getProperty("java.home")),
                List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        int port = Ports.free();
        master = "spark://127.0.0.1:" + port;
        spark.start(
                        "master",
                        "",
                        List.of(
                                "org.apache.spark.deploy.master.Master",
                                "--host",
                                "127.0.0.1",
                                "--port",
                                Integer.toString(port),
                                "--webui-port",
                                "0"))
                .await("I have been elected leader");
        for (int worker = 1; worker <= 2; worker++) {
            spark.start(
                            "worker" + worker,
                            "",
                            List.of(
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
                                    directory.resolve("work" + worker).toString(),
                                    master))
                    .await("Successfully registered with master");
        }
    }

    @AfterAll
    void stop() throws IOException {
        try {
            if (spark != null) {
                spark.close();
            }
        } finally {
            if (sharedMemory != null) {
                sharedMemory.close();
            }
        }
    }

    /** The jars that this JVM has, without anything of ours. */
    private static List<Path> sparkJars() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .map(Path::of)
                .filter(file -> file.getFileName().toString().matches("(?!verbena|rdma-buffers).*\\.jar"))
                .toList();
    }

    private Submission submission(String name) {
        return new Submission(name, master, StandaloneApp.class, app)
                .ourShuffle(sharedMemory)
                .conf("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .conf("spark.speculation", "true")
                .conf("spark.speculation.quantile", "0.5")
                .conf("spark.speculation.minTaskRuntime", "1s");
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

    /** Executors of 3.5 make the shuffle manager before they fetch the application's jars. */
    @Tag("spark-4")
    @Test
    void shouldLoadTheManagerFromJarsOfTheApplication() throws Exception {
        assertRan(spark.submit(submission("jars").jars(jar)));
    }

    @Test
    void shouldLoadTheManagerFromTheClassPath() throws Exception {
        assertRan(spark.submit(submission("class-path").classPath(jar)));
    }
}
