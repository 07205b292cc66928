package io.verbena.bench.verbs;

import io.verbena.guest.GuestHost;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import io.verbena.verbs.VerbsUnavailableException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.TimeUnit;

/**
 * The product's verbs transport: this JVM is host A, a child JVM is host B. Both stay for all sizes.
 *
 * <p>Ownership: owns the child; {@link #close} ends it.
 */
final class TransportReader implements Reader, AutoCloseable {
    /** What host B serves: one read of the largest size. perftest reads the same few buffers again and again, too. */
    static final int SERVED_BYTES = 1 << 20;

    private static final long STOP_SECONDS = 30;
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final Process server;
    private final VerbsEndpoint endpoint;
    private final byte[] descriptor;
    private final long address;
    private final int rkey;

    TransportReader() throws IOException, VerbsUnavailableException {
        server = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ServerMain.class.getName())
                .redirectError(Redirect.INHERIT)
                .start();
        boolean started = false;
        try {
            String[] words = firstLine(server).split(" ", -1);
            descriptor = HexFormat.of().parseHex(words[1]);
            address = Long.parseLong(words[2]);
            rkey = Integer.parseInt(words[3]);
            endpoint = new VerbsEndpoint(GuestHost.A);
            started = true;
        } finally {
            if (!started) {
                server.destroyForcibly();
            }
        }
    }

    private static String firstLine(Process server) throws IOException {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8));
        String line = lines.readLine();
        if (line == null || !line.startsWith("serving ")) {
            throw new IOException("the server did not start: it said " + line + "; its errors are above");
        }
        return line;
    }

    @Override
    public ReadLoop open(int blockBytes) throws IOException {
        try {
            RemoteMemory remote = endpoint.transport().connect(descriptor, TIMEOUT);
            return new TransportLoop(remote, endpoint, address, rkey, blockBytes);
        } catch (TransportException e) {
            throw new IOException("cannot connect to host " + GuestHost.B + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void close() throws IOException {
        endpoint.close();
        server.getOutputStream().close();
        try {
            server.onExit().orTimeout(STOP_SECONDS, TimeUnit.SECONDS).join();
        } finally {
            server.destroyForcibly();
        }
    }
}
