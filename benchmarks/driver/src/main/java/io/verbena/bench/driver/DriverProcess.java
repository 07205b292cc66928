package io.verbena.bench.driver;

import io.verbena.bench.driver.DriverServer.Reply;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.launcher.JavaModuleOptions;
import org.apache.spark.util.Utils;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The parent's end of a Spark application in a child process that runs a {@link DriverServer}. Owns the process: {@link #close} ends
 * it and its executors.
 *
 * <p>Errors: a {@link RequestFailedException} leaves the process usable; any other {@link IOException} means that it is gone or does not
 * answer, and only {@link #close} may follow. Not thread safe.
 */
public final class DriverProcess implements Closeable {
    private static final long START_TIMEOUT_MS = 120_000;
    private static final int START_POLL_MS = 500;
    private static final String DEFAULT_HEAP = "2g";
    private static final long STOP_TIMEOUT_S = 20;

    private final String name;
    private final Process process;
    private final Path log;
    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** The driver is alive, but what it was asked to do failed. The message is the driver's stack trace. */
    public static final class RequestFailedException extends IOException {
        private static final long serialVersionUID = 1;

        RequestFailedException(String message) {
            super(message);
        }
    }

    /** Reads what the driver's {@link Payload} wrote. */
    @FunctionalInterface
    public interface Decoder<T> {
        /** Reads the values. */
        T read(DataInputStream from) throws IOException;
    }

    private DriverProcess(String name, Process process, Path log, Socket socket) throws IOException {
        this.name = name;
        this.process = process;
        this.log = log;
        this.socket = socket;
        this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        this.out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    /**
     * Starts a driver and waits until it has connected.
     *
     * @param name of the driver, for its folder and for messages
     * @param main a class whose main method hands its arguments to {@link DriverServer#run}
     * @param confs Spark settings
     * @param logDir gets the driver's log and its executors' work folders
     * @param answerTimeoutMs how long any later answer may take, in milliseconds
     */
    public static DriverProcess start(
            String name, Class<?> main, Map<String, String> confs, Path logDir, int answerTimeoutMs)
            throws IOException {
        Path home = logDir.resolve(name);
        Files.createDirectories(home.resolve("jars"));
        Path log = home.resolve("driver.log");
        String token = UUID.randomUUID().toString();
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            ProcessBuilder builder = new ProcessBuilder(command(main, confs, server.getLocalPort()));
            builder.environment().put("CLASSPATH", System.getProperty("java.class.path"));
            // Spark's Worker starts executors from these; the jars come from spark.executor.extraClassPath.
            builder.environment().put("SPARK_HOME", home.toAbsolutePath().toString());
            builder.environment().put("SPARK_SCALA_VERSION", "2.13");
            if (confs.getOrDefault("spark.master", "").startsWith("local")) {
                // Executors inherit it; no setting has the same effect on them.
                builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
            }
            builder.environment().put(DriverServer.TOKEN_VARIABLE, token);
            builder.redirectErrorStream(true);
            builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
            Process process = builder.start();
            try {
                Socket socket = accept(server, process, name, log);
                socket.setSoTimeout(answerTimeoutMs);
                DriverProcess driver = new DriverProcess(name, process, log, socket);
                if (!driver.in.readUTF().equals(token)) {
                    throw new IOException("another process connected in place of the driver: driver=" + name);
                }
                return driver;
            } catch (IOException | RuntimeException e) {
                kill(process);
                throw e;
            }
        }
    }

    private static List<String> command(Class<?> main, Map<String, String> confs, int port) {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
        command.add("-Xmx" + confs.getOrDefault("spark.driver.memory", DEFAULT_HEAP));
        command.add("-XX:+UseParallelGC");
        command.addAll(List.of(JavaModuleOptions.defaultModuleOptionArray()));
        // Usually read by spark-submit, which has no part here.
        String javaOptions = confs.getOrDefault("spark.driver.extraJavaOptions", "");
        command.addAll(CollectionConverters.asJava(Utils.splitCommandString(javaOptions)));
        confs.forEach((key, value) -> command.add("-D" + key + "=" + value));
        command.add(main.getName());
        command.add(Integer.toString(port));
        return command;
    }

    private static Socket accept(ServerSocket server, Process process, String name, Path log) throws IOException {
        server.setSoTimeout(START_POLL_MS);
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(START_TIMEOUT_MS);
        while (true) {
            try {
                return server.accept();
            } catch (SocketTimeoutException e) {
                if (!process.isAlive()) {
                    throw new IOException("driver ended while starting: driver=" + name + ", exitStatus="
                            + process.exitValue() + "; see log=" + log);
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new IOException("driver did not start: driver=" + name + ", timeoutMs=" + START_TIMEOUT_MS
                            + "; see log=" + log);
                }
            }
        }
    }

    /** Asks for something; {@link #answer} must follow. */
    public void request(String request, Payload arguments) throws IOException {
        try {
            out.writeUTF(request);
            arguments.writeTo(out);
            out.flush();
        } catch (SocketException e) {
            throw gone(e);
        }
    }

    /**
     * Waits for the end of what was asked for.
     *
     * @param progress is told what the driver says meanwhile
     */
    public <T> T answer(Consumer<String> progress, Decoder<T> decoder) throws IOException {
        try {
            Reply reply = Reply.valueOf(in.readUTF());
            while (reply == Reply.PROGRESS) {
                progress.accept(in.readUTF());
                reply = Reply.valueOf(in.readUTF());
            }
            if (reply == Reply.FAILED) {
                throw new RequestFailedException(in.readUTF());
            }
            return decoder.read(in);
        } catch (SocketTimeoutException e) {
            throw new IOException(
                    "driver did not answer in time: driver=" + name + ", timeoutMs=" + socket.getSoTimeout()
                            + "; give it more time, or see log=" + log,
                    e);
        } catch (EOFException | SocketException e) {
            throw gone(e);
        }
    }

    private IOException gone(IOException cause) {
        boolean ended = awaitExit(START_POLL_MS, TimeUnit.MILLISECONDS);
        String status = ended ? ", exitStatus=" + process.exitValue() : "";
        return new IOException("driver process is gone: driver=" + name + status + "; see log=" + log, cause);
    }

    /** Tells the process to end, without waiting: it takes the end of the connection as the end of its work. */
    public void disconnect() throws IOException {
        socket.close();
    }

    /** Ends the process and its executors, by force when it does not within its time. */
    @Override
    public void close() throws IOException {
        try {
            disconnect();
        } finally {
            if (!awaitExit(STOP_TIMEOUT_S, TimeUnit.SECONDS)) {
                kill(process);
            }
        }
    }

    /** Ends the process and its executors at once. */
    public void kill() {
        kill(process);
    }

    private boolean awaitExit(long timeout, TimeUnit unit) {
        try {
            return process.waitFor(timeout, unit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static void kill(Process process) {
        List<ProcessHandle> executors = process.descendants().toList();
        process.destroyForcibly();
        executors.forEach(ProcessHandle::destroyForcibly);
    }
}
