package io.verbena.bench.jobs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Runs workloads in several modes by turns: one run of each mode makes a round, and the order changes from round to round, so that
 * what else the machine does falls on all modes. Not thread safe.
 */
final class JobsBench {
    /** JVMs count as warm when compilers take no more than this of a run's CPU time. */
    private static final double WARM_SHARE = 0.15;

    private final Runner runner;
    private final int warmups;
    private final int runs;
    private final Consumer<String> progress;

    /** Runs single workloads. */
    interface Runner {
        JobRun run(Workload workload, Mode mode) throws IOException;

        /** Is told what is still to be run, so that it can give up the rest. */
        default void keep(Map<Workload, List<Mode>> plan) throws IOException {}
    }

    /**
     * @param warmups the most rounds before those that are counted; fewer where the JVMs are warm sooner
     * @param runs rounds that are counted
     * @param progress is told of single runs
     */
    JobsBench(Runner runner, int warmups, int runs, Consumer<String> progress) {
        this.runner = runner;
        this.warmups = warmups;
        this.runs = runs;
        this.progress = progress;
    }

    /**
     * Runs all workloads.
     *
     * @param results is given each workload's when it is done
     * @throws IOException if a run fails; the other workloads are then not run
     */
    void run(Map<Workload, List<Mode>> plan, Consumer<WorkloadResult> results) throws IOException {
        Map<Workload, List<Mode>> left = new LinkedHashMap<>(plan);
        for (Map.Entry<Workload, List<Mode>> entry : plan.entrySet()) {
            runner.keep(left);
            results.accept(measure(entry.getKey(), entry.getValue()));
            left.remove(entry.getKey());
        }
    }

    private WorkloadResult measure(Workload workload, List<Mode> modes) throws IOException {
        // In an application that is new for every run nothing can be warmed up.
        boolean warm = workload.isFresh();
        for (int i = 0; i < warmups && !warm; i++) {
            warm = isWarm(round(workload, modes, i, "warm-up " + (i + 1)).values());
        }
        Map<Mode, List<JobRun>> counted = new LinkedHashMap<>();
        modes.forEach(mode -> counted.put(mode, new ArrayList<>()));
        for (int i = 0; i < runs; i++) {
            round(workload, modes, i, "run " + (i + 1))
                    .forEach((mode, run) -> counted.get(mode).add(run));
        }
        return new WorkloadResult(workload, counted);
    }

    /** Each mode for itself: some have an application that is older than others' and has long come to rest. */
    private static boolean isWarm(Collection<JobRun> round) {
        return round.stream()
                .map(JobRun::figures)
                .allMatch(run -> run.get(Figure.COMPILER_CPU) <= WARM_SHARE * run.get(Figure.PROCESS_CPU));
    }

    private Map<Mode, JobRun> round(Workload workload, List<Mode> modes, int number, String title) throws IOException {
        Map<Mode, JobRun> round = new LinkedHashMap<>();
        for (int turn = 0; turn < modes.size(); turn++) {
            Mode mode = modes.get(number % 2 == 0 ? turn : modes.size() - 1 - turn);
            JobRun run = runner.run(workload, mode);
            round.put(mode, run);
            progress.accept(String.format(
                    Locale.ROOT,
                    "%s %s %s: wall %.2f s, executor CPU %.2f s (user %.2f), task CPU %.2f s, compilers %.2f s",
                    workload,
                    mode,
                    title,
                    run.figures().get(Figure.WALL),
                    run.figures().get(Figure.EXECUTOR_CPU),
                    run.figures().get(Figure.USER_CPU),
                    run.figures().get(Figure.TASK_CPU),
                    run.figures().get(Figure.COMPILER_CPU)));
        }
        return round;
    }
}
