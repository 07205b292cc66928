package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
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
    private final List<Process> processes = new ArrayList<>();

    private Path directory;

    private Path sharedMemory;
    private Path jar;
    private Path app;
    private String master;

    @BeforeAll
    void start(@TempDir Path temporary) throws IOException {
        directory = temporary;
        jar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(jar).as("made by the package phase of shuffle-manager").isRegularFile();
        sharedMemory = Files.createTempDirectory(Path.of("/dev/shm"), "verbena-it-");
        app = appJar();
        install();
        int port = Ports.free();
        master = "spark://127.0.0.1:" + port;
        Path log = spark(
                "master",
                "",
                "org.apache.spark.deploy.master.Master",
                "--host",
                "127.0.0.1",
                "--port",
                Integer.toString(port),
                "--webui-port",
                "0");
        awaitLine(log, "I have been elected leader");
        for (int worker = 1; worker <= 2; worker++) {
            awaitLine(
                    spark(
                            "worker" + worker,
                            "",
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
                            master),
                    "Successfully registered with master");
        }
    }

    @AfterAll
    void stop() throws Exception {
        // The last started first: an application, the workers with their executors, the master.
        for (int i = processes.size() - 1; i >= 0; i--) {
            end(processes.get(i));
        }
        if (sharedMemory != null) {
            assertThat(Cluster.within(20, () -> Cluster.files(sharedMemory).isEmpty()))
                    .as("files left: %s", Cluster.files(sharedMemory))
                    .isTrue();
            Cluster.remove(sharedMemory);
        }
    }

    private static void end(Process process) throws Exception {
        List<ProcessHandle> children = process.descendants().toList();
        process.destroy();
        if (!process.waitFor(20, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        for (ProcessHandle child : children) {
            child.destroy();
            child.onExit()
                    .orTimeout(20, TimeUnit.SECONDS)
                    .exceptionally(late -> {
                        child.destroyForcibly();
                        return child;
                    })
                    .join();
        }
    }

    /** An installation of Spark: the jars that this JVM has, without anything of ours, and where to log. */
    private void install() throws IOException {
        Path jars = Files.createDirectories(home().resolve("jars"));
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path file = Path.of(entry).toAbsolutePath();
            String name = file.getFileName().toString();
            if (name.endsWith(".jar") && !name.matches("(verbena|rdma-buffers).*")) {
                Files.createSymbolicLink(jars.resolve(name), file);
            }
        }
        Path conf = Files.createDirectory(home().resolve("conf"));
        Files.writeString(conf.resolve("log4j2.properties"), """
                rootLogger.level = info
                rootLogger.appenderRef.stdout.ref = console
                appender.console.type = Console
                appender.console.name = console
                appender.console.target = SYSTEM_ERR
                appender.console.layout.type = PatternLayout
                appender.console.layout.pattern = %p %c{1}: %m%n%ex
                """);
    }

    private Path home() {
        return directory.resolve("spark");
    }

    /** Starts a JVM with one of Spark's main classes; returns its log. */
    private Path spark(String name, String extraClassPath, String... mainAndArguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        command.addAll(List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        command.addAll(List.of("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of(mainAndArguments));
        Path log = directory.resolve(name + ".log");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .directory(directory.toFile());
        Map<String, String> environment = builder.environment();
        environment.put(
                "CLASSPATH",
                Stream.of(extraClassPath, home().resolve("conf").toString(), home().resolve("jars") + "/*")
                        .filter(entry -> !entry.isEmpty())
                        .collect(Collectors.joining(File.pathSeparator)));
        environment.put("SPARK_HOME", home().toString());
        environment.put("SPARK_SCALA_VERSION", System.getenv("SPARK_SCALA_VERSION"));
        processes.add(builder.start());
        return log;
    }

    private void awaitLine(Path log, String text) throws IOException {
        assertThat(Cluster.within(90, () -> lines(log).stream().anyMatch(line -> line.contains(text))))
                .as("%s in %s", text, Files.readString(log))
                .isTrue();
    }

    private static List<String> lines(Path log) {
        try (Stream<String> lines = Files.lines(log)) {
            return lines.toList();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** A jar with the application's class and its lambdas, nothing else. */
    private Path appJar() throws IOException {
        String name = StandaloneApp.class.getName().replace('.', '/') + ".class";
        Path target = directory.resolve("app.jar");
        try (OutputStream file = Files.newOutputStream(target);
                JarOutputStream out = new JarOutputStream(file);
                InputStream in = StandaloneApp.class.getClassLoader().getResourceAsStream(name)) {
            out.putNextEntry(new JarEntry(name));
            in.transferTo(out);
            out.closeEntry();
        }
        return target;
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
        Path log = spark(name, extraClassPath, command.toArray(String[]::new));
        Process process = processes.get(processes.size() - 1);
        boolean ended = process.waitFor(150, TimeUnit.SECONDS);
        List<String> lines = lines(log);
        assertThat(ended && process.exitValue() == 0)
                .as("%s ended well; its log: %s", name, String.join("\n", lines))
                .isTrue();
        return lines;
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
