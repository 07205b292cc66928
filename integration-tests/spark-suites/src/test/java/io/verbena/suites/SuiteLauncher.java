package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.SuiteReport;
import io.verbena.guest.SuiteReport.Result;
import io.verbena.suites.agent.ShuffleCounts;
import io.verbena.suites.agent.SuiteSettings;
import java.io.IOException;
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
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final String REPORTS = "reports";
    /** Options that all JVMs of a run take. */
    private static final String JVM_VARIABLE = "JDK_JAVA_OPTIONS";

    private static final Map<String, String> OURS = Map.of(
            // A system property in Spark's build, which suites with confs of their own do not see.
            "spark.unsafe.exceptionOnMemoryLeak",
            "true",
            "spark.shuffle.manager",
            "org.apache.spark.shuffle.rdma.RdmaShuffleManager",
            "spark.shuffle.rdma.memory.size",
            "128m",
            "spark.shuffle.rdma.memory.segmentSize",
            "8m",
            "spark.shuffle.rdma.memory.prewarm",
            "0",
            "spark.shuffle.rdma.memory.leakTracking",
            "exact");

    /** Loads most classes that any suite does: a local cluster, SQL and our shuffle. */
    private static final SparkSuite TYPICAL =
            new SparkSuite("org.apache.spark.sql.execution.joins.BroadcastJoinSuite", SparkSuite.OURS);

    private static final String TYPICAL_TEST =
            "broadcast join where streamed side's output partitioning is HashPartitioning";

    /** Drivers live for a minute and executors for seconds: the second compiler costs more than it gives. */
    private static final String JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

    private final Path directory;
    private final SuiteClassPath classPath;
    private final Path archive;

    private SuiteLauncher(Path directory, SuiteClassPath classPath) {
        this.directory = directory;
        this.classPath = classPath;
        this.archive = directory.resolve("classes.jsa");
    }

    /**
     * @param directory for the folders of the runs
     */
    static SuiteLauncher in(Path directory) throws IOException, InterruptedException {
        Path absolute = Files.createDirectories(directory.toAbsolutePath());
        SuiteLauncher launcher = new SuiteLauncher(absolute, SuiteClassPath.in(absolute));
        launcher.archiveClasses();
        return launcher;
    }

    /**
     * Runs a test for the classes that it loads, which saves later JVMs without agent, above all executors, much processor time. Without
     * the agent, whose classes the JVM would not archive.
     */
    private void archiveClasses() throws IOException, InterruptedException {
        Files.deleteIfExists(archive);
        Path home = home("archive");
        Path output = home.resolve("output.txt");
        Map<String, String> environment = new HashMap<>(environment(home));
        environment.put(JVM_VARIABLE, JVM_OPTIONS);
        Path sharedMemory = Files.createTempDirectory(SHARED_MEMORY, "verbena-suites-");
        try {
            List<String> words = jvm(home, sharedMemory);
            OURS.forEach((key, value) -> words.add("-D" + key + "=" + value));
            words.add("-Dspark.shuffle.rdma.memory.shmDirectory=" + sharedMemory);
            words.add("-XX:ArchiveClassesAtExit=" + archive);
            words.addAll(runner(classPath.jars(), home, TYPICAL, List.of(TYPICAL_TEST)));
            int exitStatus = ForkedJvm.run(words, environment, home, output, LIMIT, GRACE);
            assertThat(exitStatus)
                    .as("exit status of the run for its classes; see %s", output)
                    .isZero();
            assertThat(archive).as("archive of classes; see %s", output).isRegularFile();
        } finally {
            FileUtils.deleteDirectory(sharedMemory.toFile());
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
        Path home = home(name);
        Path output = home.resolve("output.txt");
        Path sharedMemory = Files.createTempDirectory(SHARED_MEMORY, "verbena-suites-");
        try {
            Path temporary = Files.createDirectory(sharedMemory.resolve("tmp"));
            Path segments = Files.createDirectory(sharedMemory.resolve("segments"));
            List<String> words = jvm(home, temporary);
            if (!settings.isEmpty()) {
                store(settings, segments, home.resolve(SuiteSettings.FILE));
                // With an agent, JDK 17 crashes on some of the archived classes; executors have none.
                words.add("-Xshare:off");
                words.add("-javaagent:" + System.getProperty("verbena.agentJar") + "=" + home);
            }
            words.addAll(runner(classPath.all(), home, suite, tests));
            long start = System.nanoTime();
            int exitStatus = ForkedJvm.run(words, environment(home), home, output, LIMIT, GRACE);
            double seconds = (System.nanoTime() - start) / 1e9;
            return new SuiteRun(
                    exitStatus,
                    seconds,
                    SuiteReport.read(home.resolve(REPORTS)).results().values().stream()
                            .flatMap(List<Result>::stream)
                            .toList(),
                    settings.isEmpty() ? Map.of() : shuffles(home.resolve(ShuffleCounts.FILE)),
                    files(segments),
                    output);
        } finally {
            FileUtils.deleteDirectory(sharedMemory.toFile());
        }
    }

    /** Makes the folder of a run, or empties it. */
    private Path home(String name) throws IOException {
        Path home = directory.resolve(name);
        FileUtils.deleteDirectory(home.toFile());
        Files.createDirectories(home.resolve(REPORTS));
        Files.createDirectories(home.resolve("jars"));
        return home;
    }

    private static List<String> runner(String classPath, Path home, SparkSuite suite, List<String> tests) {
        List<String> words = new ArrayList<>(List.of("-cp", classPath, "org.scalatest.tools.Runner", "-oDWF"));
        words.addAll(List.of("-u", home.resolve(REPORTS).toString(), "-s", suite.className()));
        tests.forEach(test -> words.addAll(List.of("-t", test)));
        return words;
    }

    private static List<String> jvm(Path home, Path temporary) {
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        words.addAll(List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        words.addAll(List.of(
                "-ea",
                "-Xss4m",
                "-Xmx3g",
                // Room enough that no collection comes in the middle of a test: Spark removes shuffles that the
                // driver's collector
                // finds unused, and some tests look for their files later.
                "-Xms2g",
                "-Xmn1g",
                "-XX:MetaspaceSize=512m",
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
                classPath.all(),
                "SPARK_LOCAL_IP",
                "127.0.0.1",
                JVM_VARIABLE,
                JVM_OPTIONS + " -XX:SharedArchiveFile=" + archive,
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
