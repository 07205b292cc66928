package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.SuiteReport;
import io.verbena.guest.SuiteReport.Result;
import io.verbena.suites.agent.ShuffleCounts;
import io.verbena.suites.agent.SuiteSettings;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.commons.io.FileUtils;

/**
 * Starts suites as Spark's own build does: the same JVM options, properties and environment, by ScalaTest's runner.
 *
 * <p>Everything of a run is in a folder of its own; Spark's files and our segments lie in one on tmpfs, which goes at its end.
 */
final class SuiteLauncher {
    private static final Duration LIMIT = Duration.ofMinutes(15);
    private static final Duration GRACE = Duration.ofSeconds(30);
    private static final Map<String, String> OURS = Map.of(
            // A system property in Spark's build, which suites with confs of their own do not see.
            "spark.unsafe.exceptionOnMemoryLeak", "true",
            "spark.shuffle.manager", "org.apache.spark.shuffle.rdma.RdmaShuffleManager",
            "spark.shuffle.rdma.memory.size", "128m",
            "spark.shuffle.rdma.memory.segmentSize", "8m",
            "spark.shuffle.rdma.memory.prewarm", "0",
            "spark.shuffle.rdma.memory.leakTracking", "exact");

    private final Path directory;
    private final String classPath;

    private SuiteLauncher(Path directory, String classPath) {
        this.directory = directory;
        this.classPath = classPath;
    }

    /**
     * @param directory for the folders of the runs
     */
    static SuiteLauncher in(Path directory) throws IOException {
        Path absolute = Files.createDirectories(directory.toAbsolutePath());
        List<String> entries = new ArrayList<>();
        entries.add(Path.of("src", "test", "spark-conf").toAbsolutePath().toString());
        Path resources = Files.createDirectories(absolute.resolve("resources"));
        entries.add(resources.toString());
        Path shadedJar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(shadedJar).as("made by the package phase of shuffle-manager").isRegularFile();
        entries.add(shadedJar.toString());
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path file = Path.of(entry).toAbsolutePath();
            String name = file.getFileName().toString();
            // Of ours only the jar that users get, as it is.
            if (name.endsWith(".jar") && !name.matches("(verbena|rdma-buffers).*")) {
                entries.add(file.toString());
                if (name.matches("spark-.*-tests\\.jar")) {
                    unpackResources(file, resources);
                }
            }
        }
        return new SuiteLauncher(absolute, String.join(File.pathSeparator, entries));
    }

    /** Suites open their data as files, so it may not stay in the jar. */
    private static void unpackResources(Path jar, Path target) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            for (JarEntry entry : (Iterable<JarEntry>) file.stream()::iterator) {
                if (entry.isDirectory()
                        || entry.getName().endsWith(".class")
                        || entry.getName().startsWith("META-INF/")) {
                    continue;
                }
                Path path = target.resolve(entry.getName()).normalize();
                if (!path.startsWith(target)) {
                    throw new IOException("entry leaves its folder: jar=" + jar + ", entry=" + entry.getName());
                }
                Files.createDirectories(path.getParent());
                try (InputStream in = file.getInputStream(entry)) {
                    FileUtils.copyInputStreamToFile(in, path.toFile());
                }
            }
        }
    }

    /** Runs a whole suite with our shuffle. */
    SuiteRun ours(SparkSuite suite) throws IOException, InterruptedException {
        return run(suite, suite.simpleName(), OURS, List.of());
    }

    /** Runs some tests of a suite with our shuffle and blocks that are compressed as Spark's are. */
    SuiteRun compressed(SparkSuite suite, List<String> tests) throws IOException, InterruptedException {
        Map<String, String> settings = new HashMap<>(OURS);
        settings.put("spark.shuffle.rdma.compression", "spark");
        return run(suite, suite.simpleName() + "-compressed", settings, tests);
    }

    /** Runs some tests of a suite with Spark's own shuffle and nothing of ours. */
    SuiteRun sparks(SparkSuite suite, List<String> tests) throws IOException, InterruptedException {
        return run(suite, suite.simpleName() + "-sort", Map.of(), tests);
    }

    private SuiteRun run(SparkSuite suite, String name, Map<String, String> settings, List<String> tests)
            throws IOException, InterruptedException {
        Path home = directory.resolve(name);
        FileUtils.deleteDirectory(home.toFile());
        Path reports = Files.createDirectories(home.resolve("reports"));
        Files.createDirectories(home.resolve("jars"));
        Path output = home.resolve("output.txt");
        Path sharedMemory = Files.createTempDirectory(Path.of("/dev/shm"), "verbena-suites-");
        try {
            Path temporary = Files.createDirectory(sharedMemory.resolve("tmp"));
            Path segments = Files.createDirectory(sharedMemory.resolve("segments"));
            List<String> words = new ArrayList<>(jvm(home, temporary));
            if (!settings.isEmpty()) {
                store(settings, segments, home.resolve(SuiteSettings.FILE));
                words.add("-javaagent:" + System.getProperty("verbena.agentJar") + "=" + home);
            }
            words.addAll(List.of("-cp", classPath, "org.scalatest.tools.Runner", "-oDWF", "-u", reports.toString()));
            words.addAll(List.of("-s", suite.className()));
            tests.forEach(test -> words.addAll(List.of("-t", test)));
            long start = System.nanoTime();
            int exitStatus = ForkedJvm.run(words, environment(home), home, output, LIMIT, GRACE);
            double seconds = (System.nanoTime() - start) / 1e9;
            return new SuiteRun(
                    exitStatus,
                    seconds,
                    SuiteReport.read(reports).results().values().stream()
                            .flatMap(List<Result>::stream)
                            .toList(),
                    settings.isEmpty() ? Map.of() : shuffles(home.resolve(ShuffleCounts.FILE)),
                    files(segments),
                    output);
        } finally {
            FileUtils.deleteDirectory(sharedMemory.toFile());
        }
    }

    private static List<String> jvm(Path home, Path temporary) {
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        words.addAll(List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        words.addAll(List.of(
                "-ea",
                "-Xmx3g",
                "-Xss4m",
                "-Djava.awt.headless=true",
                "-Djava.io.tmpdir=" + temporary,
                "-Dverbena.suites.log=" + home.resolve("suite.log"),
                "-Dspark.test.home=" + home,
                "-Dspark.testing=1",
                "-Dspark.master.rest.enabled=false",
                "-Dspark.ui.enabled=false",
                "-Dspark.ui.showConsoleProgress=false",
                "-Dspark.unsafe.exceptionOnMemoryLeak=true",
                "-Dspark.memory.debugFill=true",
                "-Dspark.hadoop.hadoop.caller.context.enabled=true"));
        return words;
    }

    /** Workers start executors from these, with the class path of the driver and the JVM's options that all inherit. */
    private Map<String, String> environment(Path home) {
        return Map.of(
                "SPARK_HOME",
                home.toString(),
                "SPARK_TESTING",
                "1",
                "SPARK_SCALA_VERSION",
                System.getProperty("verbena.scalaVersion"),
                "SPARK_DIST_CLASSPATH",
                classPath,
                "SPARK_LOCAL_IP",
                "127.0.0.1",
                // Drivers live for a minute and executors for seconds: the second compiler costs more than it gives.
                "JDK_JAVA_OPTIONS",
                "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "JAVA_HOME",
                System.getProperty("java.home"));
    }

    private static void store(Map<String, String> settings, Path segments, Path file) throws IOException {
        Properties properties = new Properties();
        properties.putAll(settings);
        properties.setProperty("spark.shuffle.rdma.memory.shmDirectory", segments.toString());
        try (Writer writer = Files.newBufferedWriter(file)) {
            properties.store(writer, null);
        }
    }

    private static Map<String, Integer> shuffles(Path file) throws IOException {
        Properties counts = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            counts.load(reader);
        }
        return counts.stringPropertyNames().stream()
                .collect(Collectors.toMap(
                        key -> key, key -> Integer.valueOf(counts.getProperty(key)), Integer::sum, TreeMap::new));
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> tree = Files.walk(directory)) {
            return tree.filter(Files::isRegularFile)
                    .filter(file -> !file.getFileName().toString().equals("sweep.lock"))
                    .toList();
        }
    }
}
