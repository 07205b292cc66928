package io.verbena.it.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM that runs one of Spark's main classes, and what it starts. {@link #close} ends them all. Its output is in a file. */
public final class SparkProcess implements AutoCloseable {
    private static final long START_SECONDS = 90;
    private static final long STOP_SECONDS = 20;

    private final Process process;
    private final Path log;

    SparkProcess(Process process, Path log) {
        this.process = process;
        this.log = log;
    }

    /** What the process has written so far. */
    public List<String> lines() {
        try {
            // Not Files.readAllLines: half a character at the end of a file that is being written is no reason to fail.
            return new String(Files.readAllBytes(log), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Waits until a line of the output contains a text.
     *
     * @throws IllegalStateException with the output if none does in time
     */
    public SparkProcess await(String text) {
        boolean there = Await.within(
                START_SECONDS, () -> !process.isAlive() || lines().stream().anyMatch(line -> line.contains(text)));
        if (!there || lines().stream().noneMatch(line -> line.contains(text))) {
            throw new IllegalStateException("\"" + text + "\" did not come; log=" + log + ":\n" + output());
        }
        return this;
    }

    /**
     * Waits for the end and returns the output.
     *
     * @throws IllegalStateException with the output if the process does not end in time or not with status 0
     */
    public List<String> awaitSuccess(long seconds) throws InterruptedException {
        return awaitEnd(seconds, true);
    }

    /**
     * Waits for the end of a process that must fail and returns the output.
     *
     * @throws IllegalStateException with the output if the process does not end in time or with status 0
     */
    public List<String> awaitFailure(long seconds) throws InterruptedException {
        return awaitEnd(seconds, false);
    }

    private List<String> awaitEnd(long seconds, boolean success) throws InterruptedException {
        if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
            throw new IllegalStateException("still running after " + seconds + " s; log=" + log + ":\n" + output());
        }
        if ((process.exitValue() == 0) != success) {
            throw new IllegalStateException("exitStatus=" + process.exitValue() + "; log=" + log + ":\n" + output());
        }
        return lines();
    }

    private String output() {
        return String.join("\n", lines());
    }

    /** Ends the process and its descendants, by force those that take too long. */
    @Override
    public void close() {
        List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
        all.add(0, process.toHandle());
        all.forEach(ProcessHandle::destroy);
        for (ProcessHandle one : all) {
            one.onExit()
                    .orTimeout(STOP_SECONDS, TimeUnit.SECONDS)
                    .exceptionally(late -> {
                        one.destroyForcibly();
                        return one;
                    })
                    .join();
        }
    }
}
