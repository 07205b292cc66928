package io.verbena.it;

import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** JVMs that run one of Spark's main classes, ended with all their children when the test is over. */
final class SparkProcesses implements AutoCloseable {
    /** @param log what it writes to both of its streams */
    record Running(Process process, LogFile log) {
        /** Waits for the end; returns whether it came in time and with exit status 0. */
        boolean endsWell(long seconds) throws InterruptedException {
            return process.waitFor(seconds, TimeUnit.SECONDS) && process.exitValue() == 0;
        }
    }

    private final SparkHome home;
    private final Path directory;
    private final List<Process> processes = new ArrayList<>();

    /** @param directory where they run and log */
    SparkProcesses(SparkHome home, Path directory) {
        this.home = home;
        this.directory = directory;
    }

    /**
     * Starts a JVM.
     *
     * @param name of the log
     * @param classPath what comes before Spark's own
     */
    Running start(String name, List<String> classPath, Map<String, String> environment, String... mainAndArguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        command.addAll(List.of(System.getProperty("spark.jvm.opens").split(" ", -1)));
        command.addAll(List.of("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of(mainAndArguments));
        LogFile log = new LogFile(directory.resolve(name + ".log"));
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.file().toFile())
                .directory(directory.toFile());
        builder.environment()
                .put(
                        "CLASSPATH",
                        Stream.concat(classPath.stream(), Stream.of(home.conf().toString(), home.jars() + "/*"))
                                .collect(Collectors.joining(File.pathSeparator)));
        builder.environment().putAll(home.environment());
        builder.environment().putAll(environment);
        Process process = builder.start();
        processes.add(process);
        return new Running(process, log);
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /** Ends the last started first: an application, the workers with their executors, the master. */
    @Override
    public void close() {
        for (int i = processes.size() - 1; i >= 0; i--) {
            ProcessHandle process = processes.get(i).toHandle();
            List<ProcessHandle> children = process.descendants().toList();
            end(process);
            children.forEach(SparkProcesses::end);
        }
    }

    private static void end(ProcessHandle process) {
        process.destroy();
        process.onExit()
                .orTimeout(20, TimeUnit.SECONDS)
                .exceptionally(late -> {
                    process.destroyForcibly();
                    return process;
                })
                .join();
    }
}
