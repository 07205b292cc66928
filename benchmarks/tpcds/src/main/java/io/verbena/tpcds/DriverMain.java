package io.verbena.tpcds;

import io.verbena.bench.driver.DriverServer;
import io.verbena.bench.driver.Payload;
import io.verbena.bench.driver.TaskTotals;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;

/** A child process that generates data and runs queries for a {@link QueryDriver}. */
final class DriverMain implements DriverServer.Service {
    enum Request {
        GENERATE,
        OPEN,
        RUN,
        RUN_FULL
    }

    private final SparkSession session;
    private final TaskTotals totals = new TaskTotals();

    private DriverMain(SparkSession session) {
        this.session = session;
        session.sparkContext().addSparkListener(totals);
    }

    /** @param args see {@link DriverServer#run} */
    public static void main(String[] args) throws IOException {
        DriverServer.run(args, DriverMain::new);
    }

    @Override
    public Payload answer(String request, DataInputStream in, Consumer<String> progress) throws Exception {
        return switch (Request.valueOf(request)) {
            case GENERATE -> generate(in.readDouble(), in.readUTF(), progress);
            case OPEN -> open(in.readUTF());
            case RUN -> run(in.readUTF(), in.readBoolean(), Path.of(in.readUTF()));
            case RUN_FULL -> runFull(in.readUTF(), in.readBoolean(), Path.of(in.readUTF()));
        };
    }

    private Payload generate(double scale, String dataDir, Consumer<String> progress) throws IOException {
        boolean written = new DataGenerator(session, scale, dataDir).generate(progress);
        return to -> to.writeBoolean(written);
    }

    private Payload open(String dataDir) throws IOException {
        TpcdsTables.register(session, dataDir);
        return Payload.NONE;
    }

    private Payload run(String query, boolean adaptive, Path file) throws IOException, TimeoutException {
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
        RunMetrics metrics = new RunMetrics(
                wallNs, totals.cpuNs(), executorCpuNs, totals.bytesWritten(), totals.bytesRead(), rows.size());
        return metrics::writeTo;
    }

    private Payload runFull(String query, boolean adaptive, Path file) throws IOException {
        session.conf().set("spark.sql.adaptive.enabled", adaptive);
        FullResult full = FullResult.of(session, Queries.text(query));
        TypedRows.of(full.rows().schema(), full.rows().collectAsList()).write(file);
        return to -> {
            to.writeInt(full.keyCount());
            to.writeLong(full.limit().orElse(-1));
        };
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
}
