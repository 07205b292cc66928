package io.verbena.tpcds;

import java.util.Locale;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** Numbers as text, the same on the console and on the page; a figure that is missing is a dash. */
final class Figures {
    private static final String MISSING = "-";
    private static final double NS_PER_S = 1e9;
    private static final double BYTES_PER_MB = 1e6;

    private Figures() {}

    static String seconds(QueryComparison result, Side side, ToLongFunction<RunMetrics> metricNs) {
        if (result.runs(side).isEmpty()) {
            return MISSING;
        }
        double ns = result.median(side, metricNs);
        return ns < 0 ? MISSING : seconds(ns);
    }

    static String seconds(double ns) {
        return String.format(Locale.ROOT, "%.2f", ns / NS_PER_S);
    }

    static String ratio(double ratio) {
        return Double.isNaN(ratio) ? MISSING : String.format(Locale.ROOT, "%.2f", ratio);
    }

    static String count(QueryComparison result, Side side) {
        return result.runs(side).isEmpty()
                ? MISSING
                : String.format(Locale.ROOT, "%.0f", result.median(side, RunMetrics::rowCount));
    }

    /** @return the bytes that were written for shuffles, in MB */
    static String megabytes(QueryComparison result, Side side) {
        return result.runs(side).isEmpty() ? MISSING : megabytes(result.median(side, RunMetrics::shuffleBytesWritten));
    }

    static String megabytes(double bytes) {
        return String.format(Locale.ROOT, "%.1f MB", bytes / BYTES_PER_MB);
    }

    static String firstLines(String text, int count) {
        return text.lines().limit(count).collect(Collectors.joining("\n    "));
    }
}
