package io.verbena.bench.jobs;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * All counted runs of a workload. Immutable.
 *
 * @param runs by mode, in the order of the modes; the same number of each
 */
record WorkloadResult(Workload workload, Map<Mode, List<JobRun>> runs) {

    /** How often each mode ran. */
    int count() {
        return runs.values().iterator().next().size();
    }

    boolean has(Mode... modes) {
        return runs.keySet().containsAll(List.of(modes));
    }

    Median median(Mode mode, Figure figure) {
        return Median.of(
                runs.get(mode).stream().map(run -> run.figures().get(figure)).toList());
    }

    /** Returns the median of one mode divided by that of another: above 1 the other needs less. NaN if the other has 0. */
    double ratio(Mode mode, Mode other, Figure figure) {
        double divisor = median(other, figure).middle();
        return divisor > 0 ? median(mode, figure).middle() / divisor : Double.NaN;
    }

    /** Returns the task CPU time per block that a mode has on top of {@link Mode#NULL}, in microseconds. */
    double microsecondsPerBlock(Mode mode) {
        double seconds = median(mode, Figure.TASK_CPU).middle()
                - median(Mode.NULL, Figure.TASK_CPU).middle();
        return seconds * 1e6 / median(mode, Figure.BLOCKS).middle();
    }

    /** Returns whether all runs had the same result, those of {@link Mode#NULL} aside. */
    boolean equalResults() {
        return runs.entrySet().stream()
                        .filter(entry -> entry.getKey() != Mode.NULL)
                        .flatMap(entry -> entry.getValue().stream())
                        .map(JobRun::checksum)
                        .distinct()
                        .count()
                <= 1;
    }

    /** Returns the checksums of every mode, for people. */
    String checksums() {
        return runs.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + distinct(entry.getValue()))
                .collect(Collectors.joining(", "));
    }

    private static Set<Long> distinct(List<JobRun> runs) {
        return runs.stream().map(JobRun::checksum).collect(Collectors.toCollection(TreeSet::new));
    }
}
