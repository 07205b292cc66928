package io.verbena.bench.jobs;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Runs that nothing measured. */
final class TestRuns {
    private TestRuns() {}

    /** A run all of whose figures have one value. */
    static JobRun run(long checksum, double value) {
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        for (Figure figure : Figure.values()) {
            figures.put(figure, value);
        }
        return new JobRun(checksum, figures);
    }

    /** The same run with another value of a figure. */
    static JobRun with(JobRun run, Figure figure, double value) {
        Map<Figure, Double> figures = new EnumMap<>(run.figures());
        figures.put(figure, value);
        return new JobRun(run.checksum(), figures);
    }

    /** Runs with one checksum and these values. */
    static List<JobRun> runs(double... values) {
        List<JobRun> runs = new ArrayList<>();
        for (double value : values) {
            runs.add(run(7, value));
        }
        return runs;
    }
}
