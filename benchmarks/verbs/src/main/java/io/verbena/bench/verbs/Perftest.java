package io.verbena.bench.verbs;

import io.verbena.guest.GuestHost;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * perftest's {@code ib_read_bw -e} between the two hosts: completion events, its default of 100 reads in flight.
 *
 * <p>It refuses {@code -D} (a duration) together with {@code -e} (events), so a loop counts iterations: as many as fill the length at
 * the rate of the run before.
 */
final class Perftest implements Reader {
    private static final int PORT = 18515;
    private static final int FIRST_ITERATIONS = 100;
    private static final int ATTEMPTS = 5;
    private static final double MIB = 1 << 20;
    private static final Duration LISTEN_LIMIT = Duration.ofSeconds(30);

    /** Sizes, iterations, peak and average in MiB/s, the last of which is the result. */
    private static final Pattern LINE =
            Pattern.compile("^\\s*(\\d+)\\s+(\\d+)\\s+([\\d.]+)\\s+([\\d.]+)\\s+[\\d.]+\\s*$", Pattern.MULTILINE);

    @Override
    public ReadLoop open(int blockBytes) throws IOException, InterruptedException {
        return new Loop(blockBytes);
    }

    private static final class Loop implements ReadLoop {
        private final int blockBytes;
        private double bytesPerSecond;

        Loop(int blockBytes) throws IOException, InterruptedException {
            this.blockBytes = blockBytes;
            this.bytesPerSecond = run(blockBytes, FIRST_ITERATIONS);
        }

        @Override
        public double readFor(Duration length) throws IOException, InterruptedException {
            long iterations =
                    Math.max(FIRST_ITERATIONS, (long) (bytesPerSecond * length.toMillis() / 1e3 / blockBytes));
            bytesPerSecond = run(blockBytes, iterations);
            return bytesPerSecond;
        }

        @Override
        public void close() {}
    }

    /** Returns bytes per second. */
    private static double run(int blockBytes, long iterations) throws IOException, InterruptedException {
        String output = "";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            output = runOnce(blockBytes, iterations);
            OptionalDouble result = parse(output);
            if (result.isPresent()) {
                return result.getAsDouble();
            }
        }
        throw new IOException("no result of ib_read_bw: blockBytes=" + blockBytes + ", iterations=" + iterations
                + ", attempts=" + ATTEMPTS + ", last output=" + output);
    }

    /**
     * Finds the average throughput in bytes per second. There is none if perftest could not calibrate its clock, which happens on
     * emulated processors: it then prints 0.
     */
    static OptionalDouble parse(String output) {
        Matcher matcher = LINE.matcher(output);
        if (!matcher.find()) {
            return OptionalDouble.empty();
        }
        double average = Double.parseDouble(matcher.group(4));
        return average > 0 ? OptionalDouble.of(average * MIB) : OptionalDouble.empty();
    }

    private static String runOnce(int blockBytes, long iterations) throws IOException, InterruptedException {
        Path log = Files.createTempFile("ib_read_bw-", ".log");
        Process server = start(command(GuestHost.B, blockBytes, iterations), Redirect.DISCARD);
        Process client = null;
        try {
            awaitListener(server);
            List<String> command = command(GuestHost.A, blockBytes, iterations);
            command.add(GuestHost.B.address4());
            client = start(command, Redirect.to(log.toFile()));
            boolean ended = client.waitFor(2, TimeUnit.MINUTES) && server.waitFor(10, TimeUnit.SECONDS);
            return ended ? text(log) : "timed out: " + text(log);
        } finally {
            server.destroyForcibly().onExit().join();
            if (client != null) {
                client.destroyForcibly().onExit().join();
            }
            Files.delete(log);
        }
    }

    private static List<String> command(GuestHost host, int blockBytes, long iterations) throws IOException {
        return new ArrayList<>(List.of(
                "ib_read_bw",
                "-e",
                "-F",
                "-p",
                Integer.toString(PORT),
                "-d",
                host.deviceName(),
                "-x",
                Integer.toString(host.gidIndex(host.address4())),
                "-s",
                Integer.toString(blockBytes),
                "-n",
                Long.toString(iterations)));
    }

    private static Process start(List<String> command, Redirect output) throws IOException {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output)
                .start();
    }

    private static void awaitListener(Process server) throws IOException {
        // State 0A is LISTEN; a connection to find out would be the one that the server waits for.
        Pattern listener = Pattern.compile(String.format(Locale.ROOT, ":%04X [0:]+ 0A ", PORT));
        long deadlineNs = System.nanoTime() + LISTEN_LIMIT.toNanos();
        while (!listener.matcher(text(Path.of("/proc/net/tcp"))).find()
                && !listener.matcher(text(Path.of("/proc/net/tcp6"))).find()) {
            if (!server.isAlive() || System.nanoTime() - deadlineNs > 0) {
                throw new IOException("ib_read_bw does not listen: port=" + PORT + ", alive=" + server.isAlive());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
        }
    }

    private static String text(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.UTF_8);
    }
}
