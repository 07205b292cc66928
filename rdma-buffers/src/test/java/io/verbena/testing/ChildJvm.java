package io.verbena.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Another Java process with this test's class path, which talks in lines and ends when its standard input does. */
public final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    /** Starts {@code main} with the arguments. */
    public ChildJvm(Class<?> main, List<String> arguments) throws IOException {
        this(List.of(), main, arguments);
    }

    /** Starts it through another command, for instance one that lowers a limit. */
    public ChildJvm(List<String> prefix, Class<?> main, List<String> arguments) throws IOException {
        String classPath = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath,
                main.getName()));
        command.addAll(arguments);
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        Thread reader = new Thread(this::readLines, "child-output");
        reader.setDaemon(true);
        reader.start();
    }

    private void readLines() {
        try (BufferedReader in =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns what follows the keyword in the first line that begins with it; fails if none comes in two minutes, which is long for an emulated machine. */
    public String expect(String keyword) throws InterruptedException {
        List<String> seen = new ArrayList<>();
        long deadlineNs = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
        while (true) {
            String line = lines.poll(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (line == null) {
                throw new AssertionError("child did not say " + keyword + "; it said " + seen);
            }
            if (line.startsWith(keyword + " ")) {
                return line.substring(keyword.length() + 1);
            }
            seen.add(line);
        }
    }

    /** Sends SIGSTOP. */
    public void stop() throws IOException, InterruptedException {
        signal("-STOP");
    }

    /** Sends SIGCONT. */
    public void resume() throws IOException, InterruptedException {
        signal("-CONT");
    }

    private void signal(String signal) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", signal, Long.toString(process.pid())).start();
        if (kill.waitFor() != 0) {
            throw new IOException("cannot send " + signal + " to pid=" + process.pid());
        }
    }

    /** Sends SIGKILL and waits for the end. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    @Override
    public void close() {
        kill();
    }
}
