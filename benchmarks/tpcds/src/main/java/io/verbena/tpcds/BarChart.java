package io.verbena.tpcds;

import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/** A pair of bars per query, sort above ours, as inline SVG with classes that the page's style sheet colours. */
final class BarChart {
    private static final int WIDTH = 1000;
    private static final int LEFT = 118;
    private static final int RIGHT = 150;
    private static final int TOP = 26;
    private static final int ROW = 38;
    private static final int BAR = 13;
    private static final int TICKS = 5;

    private final List<QueryComparison> results;
    private final ToLongFunction<RunMetrics> metricNs;
    private final double maxNs;

    /** @param metricNs in nanoseconds; shown in seconds */
    BarChart(List<QueryComparison> results, ToLongFunction<RunMetrics> metricNs) {
        this.results = results.stream().filter(QueryComparison::measured).toList();
        this.metricNs = metricNs;
        this.maxNs = this.results.stream()
                .mapToDouble(result -> Math.max(result.median(Side.SORT, metricNs), result.median(Side.OURS, metricNs)))
                .max()
                .orElse(0);
    }

    /** @return false when no query has the metric */
    boolean hasData() {
        return maxNs > 0;
    }

    String render(String title) {
        int height = TOP + ROW * results.size() + 8;
        StringBuilder svg = new StringBuilder();
        append(
                svg,
                "<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">%n",
                WIDTH,
                height,
                HtmlText.escape(title));
        grid(svg, height);
        for (int i = 0; i < results.size(); i++) {
            row(svg, results.get(i), TOP + i * ROW);
        }
        return svg.append("</svg>\n").toString();
    }

    private void grid(StringBuilder svg, int height) {
        double step = niceStep(maxNs / 1e9 / TICKS);
        for (double s = 0; s <= maxNs / 1e9; s += step) {
            double x = x(s * 1e9);
            append(
                    svg,
                    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
                    x,
                    x,
                    TOP - 6,
                    height - 6);
            append(svg, "<text class=\"tick\" x=\"%.1f\" y=\"%d\">%s s</text>%n", x, TOP - 11, shortest(s, step));
        }
    }

    private void row(StringBuilder svg, QueryComparison result, int y) {
        double ratio = result.ratio(metricNs);
        append(
                svg,
                "<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>%n",
                LEFT - 10,
                y + BAR + 6,
                HtmlText.escape(result.query() + (result.adaptive() ? "" : " (aqe off)")));
        bar(svg, "sort", result, Side.SORT, y + 2);
        bar(svg, "ours", result, Side.OURS, y + 2 + BAR + 1);
        append(
                svg,
                "<text class=\"ratio %s\" x=\"%d\" y=\"%d\">%s</text>%n",
                HtmlText.ratioClass(ratio),
                WIDTH - 4,
                y + BAR + 7,
                Double.isNaN(ratio) ? "-" : Figures.ratio(ratio) + "×");
    }

    private void bar(StringBuilder svg, String side, QueryComparison result, Side key, int y) {
        double ns = result.median(key, metricNs);
        double end = x(Math.max(0, ns));
        append(
                svg,
                "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>",
                side,
                LEFT,
                y,
                Math.max(1, end - LEFT),
                BAR);
        append(
                svg,
                "<text class=\"value\" x=\"%.1f\" y=\"%d\">%s</text>%n",
                end + 5,
                y + BAR - 3,
                Figures.seconds(result, key, metricNs));
    }

    private double x(double ns) {
        return LEFT + ns / maxNs * (WIDTH - LEFT - RIGHT);
    }

    /** @return the smallest of 1, 2 or 5 times a power of ten that is not below {@code atLeast} */
    private static double niceStep(double atLeast) {
        double power = Math.pow(10, Math.floor(Math.log10(atLeast)));
        for (double factor : new double[] {1, 2, 5}) {
            if (factor * power >= atLeast) {
                return factor * power;
            }
        }
        return 10 * power;
    }

    private static String shortest(double value, double step) {
        int decimals = (int) Math.max(0, -Math.floor(Math.log10(step)));
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }

    private static void append(StringBuilder svg, String format, Object... arguments) {
        svg.append(String.format(Locale.ROOT, format, arguments));
    }
}
