package io.verbena.bench.jobs;

import io.verbena.bench.driver.LocalSettings;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Spark applications, one per mode, each with a driver and two executors of one core. They stay until nobody needs them any more:
 * an idle one costs memory but no CPU time, and what its compilers have learnt is kept. Not thread safe.
 */
final class Applications implements JobsBench.Runner, Closeable {
    private static final String MASTER = "local-cluster[2,1,4096]";

    private final Path logs;
    private final Path scratch;
    private final double scale;
    private final String javaOptions;
    private final int timeoutMs;
    private final Map<String, JobDriver> running = new LinkedHashMap<>();

    /**
     * @param logs gets what applications write
     * @param scratch gets shuffle files
     * @param javaOptions for executors, besides those they need
     * @param timeoutMs how long a run may take, in milliseconds
     */
    Applications(Path logs, Path scratch, double scale, String javaOptions, int timeoutMs) {
        this.logs = logs;
        this.scratch = scratch;
        this.scale = scale;
        this.javaOptions = javaOptions;
        this.timeoutMs = timeoutMs;
    }

    @Override
    public JobRun run(Workload workload, Mode mode) throws IOException {
        if (workload.isFresh()) {
            try (JobDriver driver = start(workload, mode)) {
                return driver.run(workload, scale);
            }
        }
        String name = name(workload, mode);
        JobDriver driver = running.get(name);
        if (driver == null) {
            driver = start(workload, mode);
            running.put(name, driver);
        }
        return driver.run(workload, scale);
    }

    @Override
    public void keep(Map<Workload, List<Mode>> plan) throws IOException {
        Set<String> needed = new HashSet<>();
        plan.forEach((workload, modes) -> modes.forEach(mode -> needed.add(name(workload, mode))));
        end(needed);
    }

    private JobDriver start(Workload workload, Mode mode) throws IOException {
        Map<String, String> settings = settings(workload, mode, scratch);
        settings.merge("spark.executor.extraJavaOptions", javaOptions, (needed, more) -> needed + " " + more);
        return JobDriver.start(name(workload, mode), settings, logs, timeoutMs);
    }

    /** A workload that needs an application of its own for Verbena gets one for each mode: all are cold at its start. */
    private static String name(Workload workload, Mode mode) {
        boolean own = workload.isFresh() || !workload.verbenaSettings().isEmpty();
        return own ? mode.label() + "-" + workload.label() : mode.label();
    }

    /** All settings of an application. */
    static Map<String, String> settings(Workload workload, Mode mode, Path scratch) {
        String name = name(workload, mode);
        Map<String, String> settings = LocalSettings.of(MASTER, scratch.resolve(name));
        settings.put("spark.app.name", "verbena-bench-" + name);
        settings.put("spark.driver.memory", "1g");
        settings.put("spark.executor.memory", "1g");
        // Less background work than G1's, which would fall on whatever runs meanwhile; and compilers' threads stay, so
        // that their time can be read.
        settings.put("spark.executor.extraJavaOptions", "-XX:+UseParallelGC -XX:-UseDynamicNumberOfCompilerThreads");
        settings.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        settings.put("spark.kryo.classesToRegister", Records.Event.class.getName());
        // The number of tasks and the plan must not depend on what a shuffle reports.
        settings.put("spark.sql.adaptive.enabled", "false");
        settings.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        settings.put("spark.locality.wait", "0");
        // Spark's default, which a local cluster would turn off.
        settings.put("spark.shuffle.readHostLocalDisk", "true");
        settings.put("spark.scheduler.minRegisteredResourcesRatio", "1.0");
        settings.put("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s");
        // A retry would be measured as if it were part of the job.
        settings.put("spark.task.maxFailures", "1");
        settings.put("spark.stage.maxConsecutiveAttempts", "1");
        settings.putAll(mode.settings());
        if (mode.isVerbena()) {
            settings.putAll(workload.verbenaSettings());
        }
        return settings;
    }

    private void end(Set<String> except) throws IOException {
        List<JobDriver> ending = new ArrayList<>();
        for (String name : List.copyOf(running.keySet())) {
            if (!except.contains(name)) {
                ending.add(running.remove(name));
            }
        }
        // All are told before the first is waited for, so that they end at the same time.
        for (JobDriver driver : ending) {
            driver.disconnect();
        }
        for (JobDriver driver : ending) {
            driver.close();
        }
    }

    @Override
    public void close() throws IOException {
        end(Set.of());
    }
}
