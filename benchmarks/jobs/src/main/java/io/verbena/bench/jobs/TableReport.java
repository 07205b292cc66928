package io.verbena.bench.jobs;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Results as a table for people. */
final class TableReport {
    private static final double MB = 1e6;

    private TableReport() {}

    /** Returns the table of a workload. */
    static List<String> lines(WorkloadResult result) {
        List<String> lines = new ArrayList<>();
        lines.add("");
        lines.add(result.workload() + ", " + result.count() + " runs, medians [min .. max], seconds and MB");
        lines.add(String.format(
                Locale.ROOT,
                "%-14s %21s %21s %21s %21s %6s %6s %6s %6s %8s %10s  %s",
                "mode",
                "wall",
                "executor CPU",
                "user CPU",
                "task CPU",
                "sys",
                "JIT",
                "GC",
                "wait",
                "written",
                "registered",
                "read by"));
        result.runs().keySet().forEach(mode -> lines.add(row(result, mode)));
        compare(lines, result, Mode.SPARK, Mode.VERBENA);
        compare(lines, result, Mode.SPARK, Mode.VERBENA_LZ4);
        if (result.has(Mode.VERBENA, Mode.NULL)) {
            lines.add(String.format(
                    Locale.ROOT, "verbena / null: wall %.2f", result.ratio(Mode.VERBENA, Mode.NULL, Figure.WALL)));
            if (result.workload().hasSmallBlocks()) {
                lines.add(String.format(
                        Locale.ROOT,
                        "task CPU per block, above null: verbena %.2f us",
                        result.microsecondsPerBlock(Mode.VERBENA)));
            }
        }
        return lines;
    }

    private static String row(WorkloadResult result, Mode mode) {
        return String.format(
                Locale.ROOT,
                "%-14s %21s %21s %21s %21s %6.2f %6.2f %6.2f %6.2f %8.1f %10.1f  %s",
                mode,
                spread(result.median(mode, Figure.WALL)),
                spread(result.median(mode, Figure.EXECUTOR_CPU)),
                spread(result.median(mode, Figure.USER_CPU)),
                spread(result.median(mode, Figure.TASK_CPU)),
                result.median(mode, Figure.SYSTEM_CPU).middle(),
                result.median(mode, Figure.COMPILER_CPU).middle(),
                result.median(mode, Figure.GC).middle(),
                result.median(mode, Figure.FETCH_WAIT).middle(),
                result.median(mode, Figure.WRITTEN).middle() / MB,
                result.median(mode, Figure.REGISTERED).middle() / MB,
                ways(result, mode));
    }

    private static String spread(Median median) {
        return String.format(Locale.ROOT, "%.2f [%.2f .. %.2f]", median.middle(), median.min(), median.max());
    }

    private static String ways(WorkloadResult result, Mode mode) {
        return Stream.of(
                        Figure.READ_SELF,
                        Figure.READ_MAPPED,
                        Figure.READ_RDMA,
                        Figure.READ_NETTY,
                        Figure.READ_LOCAL_FILE,
                        Figure.OVERFLOWED)
                .filter(figure -> result.median(mode, figure).max() > 0)
                .map(figure -> String.format(
                        Locale.ROOT,
                        "%s %.0f",
                        figure.label().replaceAll("^read|Bytes$", "").toLowerCase(Locale.ROOT),
                        result.median(mode, figure).middle() / MB))
                .collect(Collectors.joining(", "));
    }

    private static void compare(List<String> lines, WorkloadResult result, Mode spark, Mode ours) {
        if (result.has(spark, ours)) {
            lines.add(String.format(
                    Locale.ROOT,
                    "%s / %s: wall %.2f, task CPU %.2f, executor CPU %.2f, user CPU %.2f",
                    spark,
                    ours,
                    result.ratio(spark, ours, Figure.WALL),
                    result.ratio(spark, ours, Figure.TASK_CPU),
                    result.ratio(spark, ours, Figure.EXECUTOR_CPU),
                    result.ratio(spark, ours, Figure.USER_CPU)));
        }
    }
}
