package io.verbena.bench.jobs;

import io.verbena.bench.driver.DriverProcess;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** A {@link JobMain} and what it can be asked. Errors, threads and ownership are those of {@link DriverProcess}. */
final class JobDriver implements Closeable {
    private final DriverProcess process;

    private JobDriver(DriverProcess process) {
        this.process = process;
    }

    /** Starts a driver as {@link DriverProcess#start} does. */
    static JobDriver start(String name, Map<String, String> settings, Path logs, int answerTimeoutMs)
            throws IOException {
        return new JobDriver(DriverProcess.start(name, JobMain.class, settings, logs, answerTimeoutMs));
    }

    /** Runs a workload once and removes its shuffles. */
    JobRun run(Workload workload, double scale) throws IOException {
        process.request(workload.name(), to -> to.writeDouble(scale));
        return process.answer(what -> {}, JobRun::readFrom);
    }

    /** See {@link DriverProcess#disconnect}. */
    void disconnect() throws IOException {
        process.disconnect();
    }

    @Override
    public void close() throws IOException {
        process.close();
    }
}
