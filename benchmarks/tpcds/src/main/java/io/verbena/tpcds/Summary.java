package io.verbena.tpcds;

import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Totals over all queries. Immutable.
 *
 * @param results in the order in which they ran
 */
record Summary(List<QueryComparison> results) {

    boolean allPassed() {
        return results.stream().allMatch(result -> result.verdict().passed());
    }

    long count(Verdict verdict) {
        return results.stream().filter(result -> result.verdict() == verdict).count();
    }

    long passedCount() {
        return results.stream().filter(result -> result.verdict().passed()).count();
    }

    /** @return queries that returned no row, for which equality says little */
    long emptyCount() {
        return results.stream()
                .filter(QueryComparison::measured)
                .filter(result -> result.median(Side.SORT, RunMetrics::rowCount) == 0)
                .count();
    }

    /** @return geometric mean of sort / ours over the queries that have the metric; NaN when none has */
    double geometricMean(ToLongFunction<RunMetrics> metric) {
        double[] logs = results.stream()
                .mapToDouble(result -> result.ratio(metric))
                .filter(ratio -> !Double.isNaN(ratio))
                .map(Math::log)
                .toArray();
        if (logs.length == 0) {
            return Double.NaN;
        }
        double sum = 0;
        for (double log : logs) {
            sum += log;
        }
        return Math.exp(sum / logs.length);
    }

    /** @return the sum of a side's medians over the queries that ran on both sides */
    double total(Side side, ToLongFunction<RunMetrics> metric) {
        return results.stream()
                .filter(QueryComparison::measured)
                .mapToDouble(result -> result.median(side, metric))
                .sum();
    }

    /** @return queries in which ours was slower */
    long slowerCount() {
        return results.stream()
                .filter(result -> result.ratio(RunMetrics::wallNs) < 1)
                .count();
    }
}
