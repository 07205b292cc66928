package io.verbena.suites;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Runs one JVM to its end and sees that no process that it started outlives it. Any thread. */
final class ForkedJvm {
    /** Inherited by everything that the JVM starts, also by what it orphans. */
    private static final String MARK = "VERBENA_SUITE_RUN";

    private static final Duration KILL = Duration.ofSeconds(10);
    private static final Duration POLL = Duration.ofMillis(100);

    private ForkedJvm() {}

    /**
     * Runs a JVM and returns its exit status.
     *
     * @param words of its command
     * @param directory to run in
     * @param output gets what it prints
     * @param limit after which it is killed
     * @param grace how long what it started may outlive it: executors notice the loss of their driver by themselves
     * @throws IOException if it or something that it started had to be killed
     */
    static int run(
            List<String> words,
            Map<String, String> environment,
            Path directory,
            Path output,
            Duration limit,
            Duration grace)
            throws IOException, InterruptedException {
        String mark = UUID.randomUUID().toString();
        ProcessBuilder builder = new ProcessBuilder(words)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(output.toFile());
        // Settings of whoever runs this build are not the test's.
        builder.environment().keySet().removeIf(name -> name.startsWith("SPARK_"));
        builder.environment().putAll(environment);
        builder.environment().put(MARK, mark);
        Process process = builder.start();
        boolean ended = false;
        List<ProcessHandle> killed;
        try {
            ended = process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS);
        } finally {
            if (!ended) {
                process.destroyForcibly();
            }
            killed = end(mark, ended ? grace : Duration.ZERO);
        }
        if (!ended) {
            throw new IOException("JVM did not end in time: limit=" + limit + "; see " + output);
        }
        if (!killed.isEmpty()) {
            throw new IOException("processes outlived their JVM and were killed: " + killed + "; see " + output);
        }
        return process.exitValue();
    }

    private static List<ProcessHandle> end(String mark, Duration grace) {
        List<ProcessHandle> late = await(mark, grace);
        late.forEach(ProcessHandle::destroyForcibly);
        await(mark, KILL);
        return late;
    }

    /** Returns those that are there when none is left or the time is over. */
    private static List<ProcessHandle> await(String mark, Duration limit) {
        long start = System.nanoTime();
        List<ProcessHandle> left;
        do {
            // Also before the first look: a process shows no environment while it changes to another program.
            LockSupport.parkNanos(POLL.toNanos());
            left = marked(mark);
        } while (!left.isEmpty() && System.nanoTime() - start < limit.toNanos());
        return left;
    }

    private static List<ProcessHandle> marked(String mark) {
        return ProcessHandle.allProcesses()
                .filter(process -> environment(process).contains(MARK + "=" + mark))
                .toList();
    }

    private static String environment(ProcessHandle process) {
        try {
            return new String(
                    Files.readAllBytes(Path.of("/proc", Long.toString(process.pid()), "environ")),
                    StandardCharsets.UTF_8);
        } catch (IOException e) {
            // Ended meanwhile, or not ours.
            return "";
        }
    }
}
