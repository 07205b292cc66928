package io.verbena.tpcds;

import io.verbena.bench.driver.DriverProcess;
import io.verbena.tpcds.DriverMain.Request;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** A {@link DriverMain} and what it can be asked. Errors, threads and ownership are those of {@link DriverProcess}. */
final class QueryDriver implements Closeable {
    private final DriverProcess process;

    /** A full result, with how many of its last columns are ORDER BY values, and the LIMIT of the query as written. */
    record FullReply(TypedRows rows, int keyCount, OptionalLong limit) {}

    private QueryDriver(DriverProcess process) {
        this.process = process;
    }

    /** Starts a driver as {@link DriverProcess#start} does. */
    static QueryDriver start(String name, Map<String, String> confs, Path logDir, int answerTimeoutMs)
            throws IOException {
        return new QueryDriver(DriverProcess.start(name, DriverMain.class, confs, logDir, answerTimeoutMs));
    }

    /** @return true when data was written, false when {@code dataDir} held it already */
    boolean generate(double scale, String dataDir, Consumer<String> progress) throws IOException {
        process.request(Request.GENERATE.name(), to -> {
            to.writeDouble(scale);
            to.writeUTF(dataDir);
        });
        return process.answer(progress, DataInputStream::readBoolean);
    }

    /** Makes the tables under {@code dataDir} known to the session. */
    void open(String dataDir) throws IOException {
        process.request(Request.OPEN.name(), to -> to.writeUTF(dataDir));
        process.answer(what -> {}, from -> true);
    }

    /** Asks for a run of the query as written, whose rows go to {@code file}; {@link #awaitRun} must follow. */
    void startRun(String query, boolean adaptive, Path file) throws IOException {
        requestRun(Request.RUN, query, adaptive, file);
    }

    /** Waits for the end of what {@link #startRun} began. */
    RunMetrics awaitRun() throws IOException {
        return process.answer(what -> {}, RunMetrics::readFrom);
    }

    /** Runs a query without its LIMIT, see {@link FullResult}. */
    FullReply runFull(String query, boolean adaptive, Path file) throws IOException {
        requestRun(Request.RUN_FULL, query, adaptive, file);
        return process.answer(what -> {}, from -> {
            int keyCount = from.readInt();
            long limit = from.readLong();
            return new FullReply(
                    TypedRows.read(file), keyCount, limit < 0 ? OptionalLong.empty() : OptionalLong.of(limit));
        });
    }

    private void requestRun(Request request, String query, boolean adaptive, Path file) throws IOException {
        process.request(request.name(), to -> {
            to.writeUTF(query);
            to.writeBoolean(adaptive);
            to.writeUTF(file.toAbsolutePath().toString());
        });
    }

    /** See {@link DriverProcess#disconnect}. */
    void disconnect() throws IOException {
        process.disconnect();
    }

    /** See {@link DriverProcess#kill}. */
    void kill() {
        process.kill();
    }

    @Override
    public void close() throws IOException {
        process.close();
    }
}
