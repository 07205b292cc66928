package io.verbena.tpcds;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;

/**
 * A child process: holds one Spark session and does what {@link DriverProcess} asks, one request at a time, until the parent closes
 * the connection or dies. Its Spark settings are its {@code spark.*} system properties.
 */
final class DriverMain {
    enum Request {
        GENERATE,
        OPEN,
        RUN,
        RUN_FULL
    }

    enum Reply {
        PROGRESS,
        DONE,
        FAILED
    }

    /** Environment variable with the word that tells the parent that this is its child. */
    static final String TOKEN_VARIABLE = "VERBENA_TPCDS_TOKEN";

    /** {@link DataOutputStream#writeUTF} takes 65,535 bytes, and a char is at most three. */
    private static final int MAX_ERROR_CHARS = 20_000;

    private final SparkSession session;
    private final TaskTotals totals = new TaskTotals();
    private final DataInputStream in;
    private final DataOutputStream out;

    private DriverMain(SparkSession session, DataInputStream in, DataOutputStream out) {
        this.session = session;
        this.in = in;
        this.out = out;
        session.sparkContext().addSparkListener(totals);
    }

    /** @param args the parent's port on the loopback address */
    public static void main(String[] args) throws IOException {
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
                new DriverMain(session, in, out).serve();
            }
        }
    }

    private void serve() throws IOException {
        try {
            while (true) {
                Request request = Request.valueOf(in.readUTF());
                try {
                    answer(request);
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

    private void answer(Request request) throws Exception {
        switch (request) {
            case GENERATE -> generate(in.readDouble(), in.readUTF());
            case OPEN -> open(in.readUTF());
            case RUN -> run(in.readUTF(), in.readBoolean(), Path.of(in.readUTF()));
            case RUN_FULL -> runFull(in.readUTF(), in.readBoolean(), Path.of(in.readUTF()));
        }
    }

    private void generate(double scale, String dataDir) throws IOException {
        boolean written = new DataGenerator(session, scale, dataDir).generate(this::progress);
        out.writeUTF(Reply.DONE.name());
        out.writeBoolean(written);
    }

    private void open(String dataDir) throws IOException {
        TpcdsTables.register(session, dataDir);
        out.writeUTF(Reply.DONE.name());
    }

    private void run(String query, boolean adaptive, Path file) throws IOException, TimeoutException {
        String sql = Queries.text(query);
        session.conf().set("spark.sql.adaptive.enabled", adaptive);
        totals.settle(session.sparkContext());
        totals.reset();
        long executorCpuBefore = executorCpuNs();
        long start = System.nanoTime();
        Dataset<Row> result = session.sql(sql);
        List<Row> rows = result.collectAsList();
        long wallNs = System.nanoTime() - start;
        long executorCpuAfter = executorCpuNs();
        totals.settle(session.sparkContext());
        long executorCpuNs = executorCpuBefore < 0 || executorCpuAfter < 0
                ? RunMetrics.NOT_MEASURED
                : executorCpuAfter - executorCpuBefore;
        TypedRows.of(result.schema(), rows).write(file);
        out.writeUTF(Reply.DONE.name());
        new RunMetrics(wallNs, totals.cpuNs(), executorCpuNs, totals.bytesWritten(), totals.bytesRead(), rows.size())
                .writeTo(out);
    }

    private void runFull(String query, boolean adaptive, Path file) throws IOException {
        session.conf().set("spark.sql.adaptive.enabled", adaptive);
        FullResult full = FullResult.of(session, Queries.text(query));
        TypedRows.of(full.rows().schema(), full.rows().collectAsList()).write(file);
        out.writeUTF(Reply.DONE.name());
        out.writeInt(full.keyCount());
        out.writeLong(full.limit().orElse(-1));
    }

    /** @return CPU time of all child processes, which are the executors of a local cluster; negative when there are none */
    private static long executorCpuNs() {
        return ProcessHandle.current()
                .descendants()
                .flatMap(process -> process.info().totalCpuDuration().stream())
                .mapToLong(java.time.Duration::toNanos)
                .reduce(Long::sum)
                .orElse(RunMetrics.NOT_MEASURED);
    }

    private void progress(String what) {
        try {
            out.writeUTF(Reply.PROGRESS.name());
            out.writeUTF(what);
            out.flush();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException("cannot report progress to the parent", e);
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
