package io.verbena.tpcds;

import java.io.PrintWriter;
import java.util.Locale;

/** Prints progress lines, then one table line per finished query. */
final class ConsoleTable implements ComparisonRun.Listener {
    private final PrintWriter out;
    private final int total;
    private int finished;

    ConsoleTable(PrintWriter out, int total) {
        this.out = out;
        this.total = total;
    }

    @Override
    public void progress(String message) {
        out.println("* " + message);
        out.flush();
    }

    @Override
    public void finished(QueryComparison result) {
        if (finished == 0) {
            out.printf(
                    Locale.ROOT,
                    "%n%-9s %-6s %-4s %8s %8s %8s %7s %9s %9s  %s%n",
                    "",
                    "query",
                    "aqe",
                    "rows",
                    "sort s",
                    "ours s",
                    "ratio",
                    "CPU ratio",
                    "shuffled",
                    "result");
        }
        finished++;
        out.printf(
                Locale.ROOT,
                "%-9s %-6s %-4s %8s %8s %8s %7s %9s %9s  %s%n",
                "[" + finished + "/" + total + "]",
                result.query(),
                result.adaptive() ? "on" : "off",
                Figures.count(result, Side.SORT),
                Figures.seconds(result, Side.SORT, RunMetrics::wallNs),
                Figures.seconds(result, Side.OURS, RunMetrics::wallNs),
                Figures.ratio(result.ratio(RunMetrics::wallNs)),
                Figures.ratio(result.ratio(RunMetrics::taskCpuNs)),
                Figures.megabytes(result, Side.SORT),
                result.verdict().label());
        result.details().stream().limit(3).forEach(detail -> out.println("    " + Figures.firstLines(detail, 5)));
        out.flush();
    }

    /** Prints the last lines; the ratios are sort / ours, so above 1 ours is better. */
    void summary(Summary summary) {
        out.printf(
                Locale.ROOT,
                "%n%d of %d results equal (%d by the rule for ties, %d without rows), %d different, %d failed%n",
                summary.passedCount(),
                summary.results().size(),
                summary.count(Verdict.EQUAL_WITH_TIES),
                summary.emptyCount(),
                summary.count(Verdict.DIFFERENT),
                summary.count(Verdict.FAILED));
        out.printf(
                Locale.ROOT,
                "Geometric mean of sort / ours (above 1: ours needs less): wall %s, task CPU %s, executor process CPU %s%n",
                Figures.ratio(summary.geometricMean(RunMetrics::wallNs)),
                Figures.ratio(summary.geometricMean(RunMetrics::taskCpuNs)),
                Figures.ratio(summary.geometricMean(RunMetrics::executorCpuNs)));
        out.flush();
    }
}
