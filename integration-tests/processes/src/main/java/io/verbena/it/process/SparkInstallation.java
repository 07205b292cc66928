package io.verbena.it.process;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A Spark home: jars of one line, and where to log. Its processes run on one JDK and have an address of loopback. {@link #close} ends
 * those that still run, and removes the links to the jars; logs stay.
 */
public final class SparkInstallation implements AutoCloseable {
    /** Drivers, workers and executors of tests live for seconds: the second compiler costs more than it gives. */
    public static final String SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1";

    private static final long SUBMIT_SECONDS = 150;

    private static final String LOGGING = """
            rootLogger.level = info
            rootLogger.appenderRef.stdout.ref = console
            appender.console.type = Console
            appender.console.name = console
            appender.console.target = SYSTEM_ERR
            appender.console.layout.type = PatternLayout
            appender.console.layout.pattern = %p %c{1}: %m%n%ex
            """;

    private final Path home;
    private final String scala;
    private final Path javaHome;
    private final List<String> jvmOptions;
    /** The last started first. */
    private final Deque<SparkProcess> processes = new ArrayDeque<>();

    /**
     * Makes the home.
     *
     * @param home a folder that is not there yet
     * @param jars Spark's, and nothing of ours
     * @param scala for instance 2.13
     * @param javaHome the JDK of all processes and their executors
     * @param jvmOptions what Spark's launcher would give JVMs on this line
     */
    public SparkInstallation(Path home, Collection<Path> jars, String scala, Path javaHome, List<String> jvmOptions)
            throws IOException {
        this.home = home;
        this.scala = scala;
        this.javaHome = javaHome;
        this.jvmOptions = List.copyOf(jvmOptions);
        Path links = Files.createDirectories(home.resolve("jars"));
        for (Path jar : jars) {
            Files.createSymbolicLink(links.resolve(jar.getFileName()), jar.toAbsolutePath());
        }
        Files.createDirectory(home.resolve("logs"));
        Files.writeString(Files.createDirectory(home.resolve("conf")).resolve("log4j2.properties"), LOGGING);
    }

    /**
     * Starts one of Spark's main classes.
     *
     * @param name of its log
     * @param extraClassPath before Spark's jars, or empty
     */
    public SparkProcess start(String name, String extraClassPath, List<String> mainAndArguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(javaHome.resolve("bin").resolve("java").toString());
        command.addAll(jvmOptions);
        command.add("-Xmx512m");
        command.addAll(List.of(SMALL_JVM.split(" ", -1)));
        command.addAll(mainAndArguments);
        Path log = home.resolve("logs").resolve(name + ".log");
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .directory(home.toFile());
        Map<String, String> environment = builder.environment();
        environment.put(
                "CLASSPATH",
                Stream.of(extraClassPath, home.resolve("conf").toString(), home.resolve("jars") + "/*")
                        .filter(entry -> !entry.isEmpty())
                        .collect(Collectors.joining(File.pathSeparator)));
        environment.put("SPARK_HOME", home.toString());
        environment.put("SPARK_SCALA_VERSION", scala);
        environment.put("SPARK_LOCAL_IP", "127.0.0.1");
        environment.put("JAVA_HOME", javaHome.toString());
        SparkProcess process = new SparkProcess(builder.start(), log);
        processes.push(process);
        return process;
    }

    /** Runs spark-submit until it ends; returns its output. */
    public List<String> submit(Submission submission) throws IOException, InterruptedException {
        SparkProcess process = start(submission.name(), submission.extraClassPath(), submission.mainAndArguments());
        return process.awaitSuccess(SUBMIT_SECONDS);
    }

    /** The output of executors that workers of this installation have started, one list of lines each. */
    public List<List<String>> executorLogs() throws IOException {
        Path work = home.resolve("work");
        if (!Files.isDirectory(work)) {
            return List.of();
        }
        List<List<String>> logs = new ArrayList<>();
        try (Stream<Path> tree = Files.walk(work)) {
            for (Path file :
                    tree.filter(path -> path.endsWith("stderr")).sorted().toList()) {
                logs.add(Files.readAllLines(file));
            }
        }
        return logs;
    }

    @Override
    public void close() throws IOException {
        while (!processes.isEmpty()) {
            processes.pop().close();
        }
        try (DirectoryStream<Path> links = Files.newDirectoryStream(home.resolve("jars"))) {
            for (Path link : links) {
                Files.delete(link);
            }
        }
    }
}
