package io.verbena.tpcds;

import java.util.List;
import java.util.function.ToLongFunction;

/**
 * One query under both shuffles. Immutable.
 *
 * @param query its name
 * @param adaptive whether adaptive query execution was on
 * @param sortRuns timed runs under Spark's sort shuffle, in the order in which they ran
 * @param ourRuns timed runs under Verbena's shuffle; shorter than {@code repeat} when a side failed
 * @param verdict the worst over all runs
 * @param details what differed or failed, a finding per line; empty when the verdict passed
 */
public record QueryComparison(
        String query,
        boolean adaptive,
        List<RunMetrics> sortRuns,
        List<RunMetrics> ourRuns,
        Verdict verdict,
        List<String> details) {

    /** @return the query's name with its mode, such as {@code q4 aqe=on} */
    public String title() {
        return query + " aqe=" + (adaptive ? "on" : "off");
    }

    boolean measured() {
        return !sortRuns.isEmpty() && !ourRuns.isEmpty();
    }

    List<RunMetrics> runs(Side side) {
        return side == Side.SORT ? sortRuns : ourRuns;
    }

    /** @return the median over a side's runs; the mean of the two middle ones for an even count */
    double median(Side side, ToLongFunction<RunMetrics> metric) {
        long[] sorted = runs(side).stream().mapToLong(metric).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
    }

    /** @return sort / ours: above 1 ours needs less; NaN when it was not measured */
    double ratio(ToLongFunction<RunMetrics> metric) {
        if (!measured()) {
            return Double.NaN;
        }
        double sort = median(Side.SORT, metric);
        double ours = median(Side.OURS, metric);
        return sort > 0 && ours > 0 ? sort / ours : Double.NaN;
    }
}
