package io.verbena.bench.driver;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.spark.sql.classic.SparkSession;

/**
 * The child's end of a {@link DriverProcess}: holds one Spark session and does what the parent asks, one request at a time, until the
 * parent closes the connection or dies. Its Spark settings are its {@code spark.*} system properties.
 */
public final class DriverServer {
    /** What precedes every answer. */
    enum Reply {
        PROGRESS,
        DONE,
        FAILED
    }

    /** Environment variable with the word that tells the parent that this is its child. */
    static final String TOKEN_VARIABLE = "VERBENA_DRIVER_TOKEN";

    /** {@link DataOutputStream#writeUTF} takes 65,535 bytes, and a char is at most three. */
    private static final int MAX_ERROR_CHARS = 20_000;

    private final SparkSession session;
    private final Service service;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** What a driver can do. */
    @FunctionalInterface
    public interface Service {
        /**
         * Does what a request says.
         *
         * @param arguments are to be read completely
         * @param progress takes messages for the parent, at any time before the return
         * @return the answer
         * @throws Exception becomes a {@link DriverProcess.RequestFailedException} in the parent; the driver goes on
         */
        Payload answer(String request, DataInputStream arguments, Consumer<String> progress) throws Exception;
    }

    private DriverServer(SparkSession session, Service service, DataInputStream in, DataOutputStream out) {
        this.session = session;
        this.service = service;
        this.in = in;
        this.out = out;
    }

    /**
     * Starts the session and serves until the parent is done.
     *
     * @param args the arguments of the process
     * @param service makes the service for a session
     */
    public static void run(String[] args, Function<SparkSession, Service> service) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(args[0]));
                DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()))) {
            out.writeUTF(System.getenv(TOKEN_VARIABLE));
            out.flush();
            try (SparkSession session = SparkSession.builder()
                    .config("spark.executor.extraClassPath", System.getProperty("java.class.path"))
                    .getOrCreate()) {
                // Executors learn the level from this call only, not from the setting itself.
                session.sparkContext().setLogLevel(session.conf().get("spark.log.level", "WARN"));
                new DriverServer(session, service.apply(session), in, out).serve();
            }
        }
    }

    private void serve() throws IOException {
        try {
            while (true) {
                String request = in.readUTF();
                try {
                    Payload answer = service.answer(request, in, this::progress);
                    out.writeUTF(Reply.DONE.name());
                    answer.writeTo(out);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                } catch (Exception | LinkageError e) {
                    session.sparkContext().cancelAllJobs();
                    fail(e);
                }
                out.flush();
            }
        } catch (EOFException e) {
            // The parent is done.
        }
    }

    private void progress(String what) {
        try {
            out.writeUTF(Reply.PROGRESS.name());
            out.writeUTF(what);
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot report progress to the parent", e);
        }
    }

    private void fail(Throwable error) throws IOException {
        StringWriter text = new StringWriter();
        error.printStackTrace(new PrintWriter(text));
        String trace = text.toString();
        out.writeUTF(Reply.FAILED.name());
        out.writeUTF(trace.substring(0, Math.min(trace.length(), MAX_ERROR_CHARS)));
    }
}
