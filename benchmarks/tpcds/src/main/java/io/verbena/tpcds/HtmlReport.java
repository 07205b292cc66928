package io.verbena.tpcds;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;

/** The page: one file without scripts or references, so that it can be mailed and archived. */
final class HtmlReport {
    private final Environment environment;
    private final Summary summary;
    private final long totalSeconds;

    /** @param totalSeconds how long the whole run took, data generation included */
    HtmlReport(Environment environment, Summary summary, long totalSeconds) {
        this.environment = environment;
        this.summary = summary;
        this.totalSeconds = totalSeconds;
    }

    String render() {
        StringBuilder html = new StringBuilder();
        html.append("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
                .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
                .append("<title>Verbena: TPC-DS comparison</title>\n<style>\n")
                .append(style())
                .append("</style>\n</head>\n<body>\n<main>\n");
        header(html);
        tiles(html);
        chart(
                html,
                "Wall time per query",
                "Seconds from query text to last row, median of the timed runs.",
                RunMetrics::wallNs);
        chart(
                html,
                "Executor CPU per query",
                "CPU seconds of the executor processes: task, network, GC and JIT threads.",
                RunMetrics::executorCpuNs);
        table(html);
        differences(html);
        method(html);
        environment(html);
        return html.append("</main>\n</body>\n</html>\n").toString();
    }

    private static String style() {
        try (InputStream in = HtmlReport.class.getResourceAsStream("report.css")) {
            if (in == null) {
                throw new IllegalStateException("style sheet missing: resource=report.css");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the style sheet: resource=report.css", e);
        }
    }

    private void header(StringBuilder html) {
        boolean passed = summary.allPassed();
        html.append("<header>\n<h1>TPC-DS: sort shuffle and Verbena</h1>\n<p class=\"sub\">Scale factor ")
                .append(fact("Scale factor"))
                .append(" · Spark ")
                .append(fact("Spark"))
                .append(" · ")
                .append(fact("Master, each side"))
                .append(" · ")
                .append(fact("Date"))
                .append("</p>\n<p class=\"verdict ")
                .append(passed ? "good" : "bad")
                .append("\">")
                .append(String.format(
                        Locale.ROOT,
                        "%d of %d results equal",
                        summary.passedCount(),
                        summary.results().size()));
        if (!passed) {
            html.append(String.format(
                    Locale.ROOT,
                    ": %d different, %d failed",
                    summary.count(Verdict.DIFFERENT),
                    summary.count(Verdict.FAILED)));
        }
        html.append("</p>\n</header>\n");
    }

    private String fact(String name) {
        return HtmlText.escape(environment.facts().getOrDefault(name, "-"));
    }

    private void tiles(StringBuilder html) {
        html.append("<section class=\"tiles\">\n");
        ratioTile(html, "Wall time", RunMetrics::wallNs);
        ratioTile(html, "Task CPU", RunMetrics::taskCpuNs);
        ratioTile(html, "Executor CPU", RunMetrics::executorCpuNs);
        tile(
                html,
                "",
                summary.slowerCount() + " of " + summary.results().size(),
                "queries slower with Verbena",
                "wall time, any margin");
        html.append(
                        "</section>\n<p class=\"note\">Ratios are sort ÷ Verbena, geometric mean over the queries: above 1 Verbena needs ")
                .append("less. Totals are sums of medians.</p>\n");
    }

    private void ratioTile(StringBuilder html, String name, ToLongFunction<RunMetrics> metric) {
        double ratio = summary.geometricMean(metric);
        String totals = Double.isNaN(ratio)
                ? "not measured with this master"
                : "total " + Figures.seconds(summary.total(Side.SORT, metric)) + " s → "
                        + Figures.seconds(summary.total(Side.OURS, metric)) + " s";
        tile(html, HtmlText.ratioClass(ratio), Figures.ratio(ratio) + (Double.isNaN(ratio) ? "" : "×"), name, totals);
    }

    private static void tile(StringBuilder html, String style, String figure, String name, String detail) {
        html.append("<div class=\"tile\"><div class=\"figure ")
                .append(style)
                .append("\">")
                .append(figure)
                .append("</div><div class=\"label\">")
                .append(name)
                .append("</div><div class=\"detail\">")
                .append(detail)
                .append("</div></div>\n");
    }

    private void chart(StringBuilder html, String title, String caption, ToLongFunction<RunMetrics> metricNs) {
        BarChart chart = new BarChart(summary.results(), metricNs);
        if (!chart.hasData()) {
            return;
        }
        html.append("<section>\n<h2>")
                .append(title)
                .append("</h2>\n<p class=\"note\">")
                .append(caption)
                .append(" <span class=\"key sort\"></span> sort <span class=\"key ours\"></span> Verbena; ")
                .append("at the right: sort ÷ Verbena.</p>\n")
                .append(chart.render(title))
                .append("</section>\n");
    }

    private void table(StringBuilder html) {
        html.append(
                        "<section>\n<h2>All figures</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Query</th><th>AQE</th>")
                .append(
                        "<th class=\"n\">Rows</th><th class=\"n\">Sort s</th><th class=\"n\">Verbena s</th><th class=\"n\">Ratio</th>")
                .append("<th class=\"n\">Task CPU ratio</th><th class=\"n\">Executor CPU ratio</th>")
                .append(
                        "<th class=\"n\">Shuffle written, sort</th><th class=\"n\">Verbena</th><th>Result</th></tr></thead>\n<tbody>\n");
        for (QueryComparison result : summary.results()) {
            html.append("<tr><td>")
                    .append(HtmlText.escape(result.query()))
                    .append("</td><td>")
                    .append(result.adaptive() ? "on" : "off")
                    .append("</td>");
            cell(html, "", Figures.count(result, Side.SORT));
            cell(html, "", Figures.seconds(result, Side.SORT, RunMetrics::wallNs));
            cell(html, "", Figures.seconds(result, Side.OURS, RunMetrics::wallNs));
            ratioCell(html, result.ratio(RunMetrics::wallNs));
            ratioCell(html, result.ratio(RunMetrics::taskCpuNs));
            ratioCell(html, result.ratio(RunMetrics::executorCpuNs));
            cell(html, "", Figures.megabytes(result, Side.SORT));
            cell(html, "", Figures.megabytes(result, Side.OURS));
            html.append("<td class=\"")
                    .append(result.verdict().passed() ? "good" : "bad")
                    .append("\">")
                    .append(result.verdict().label())
                    .append("</td></tr>\n");
        }
        html.append("</tbody>\n</table></div>\n</section>\n");
    }

    private static void cell(StringBuilder html, String style, String text) {
        html.append("<td class=\"n ").append(style).append("\">").append(text).append("</td>");
    }

    private static void ratioCell(StringBuilder html, double ratio) {
        cell(html, HtmlText.ratioClass(ratio), Figures.ratio(ratio));
    }

    private void differences(StringBuilder html) {
        html.append("<section>\n<h2>Differences and failures</h2>\n");
        if (summary.allPassed()) {
            html.append("<p>None.</p>\n");
        }
        for (QueryComparison result : summary.results()) {
            if (!result.verdict().passed()) {
                html.append("<h3>")
                        .append(HtmlText.escape(result.title()))
                        .append(": ")
                        .append(result.verdict().label())
                        .append("</h3>\n<pre>")
                        .append(HtmlText.escape(String.join("\n", result.details())))
                        .append("</pre>\n");
            }
        }
        html.append("</section>\n");
    }

    private void method(StringBuilder html) {
        html.append("<section>\n<h2>How it was compared</h2>\n<ul>\n")
                .append(
                        "<li>One Spark driver with its own executors per side, same data and settings; the sides take turns query by ")
                .append("query and alternate who goes first. One untimed run of the first query warms both up.</li>\n")
                .append(
                        "<li>Equal means: same column types, same rows, same order; every value exactly, except float and double ")
                .append("columns, where a relative difference of ")
                .append(RowMatcher.TOLERANCE)
                .append(" is allowed.</li>\n")
                .append("<li>“")
                .append(Verdict.EQUAL_WITH_TIES.label())
                .append(
                        "” means: order, or the choice of rows at the LIMIT, differs only among rows with equal ORDER BY values, and ")
                .append("the query without its LIMIT, run again on both sides, gave the same rows. This concerns ")
                .append(summary.count(Verdict.EQUAL_WITH_TIES))
                .append(" of the results above.</li>\n")
                .append("<li>")
                .append(summary.emptyCount())
                .append(" queries returned no rows at this scale: for these, equality says little.</li>\n</ul>\n")
                .append("<h2>What was not measured</h2>\n<ul>\n")
                .append(
                        "<li>A real network: with a local cluster all executors share one host, so reads between hosts, RDMA hardware and ")
                .append("network bandwidth play no part.</li>\n")
                .append("<li>Spread: ")
                .append(fact("Timed runs per query and side"))
                .append(
                        " timed runs per query and side on a machine that may do other work. Small ratios are noise; repeat with ")
                .append("--repeat before relying on them.</li>\n")
                .append(
                        "<li>A TPC-DS score: the queries run one at a time, a subset unless all are listed, with the settings below.</li>\n")
                .append(
                        "<li>Memory: what the executors held, on or off the heap, is not recorded here.</li>\n</ul>\n</section>\n");
    }

    private void environment(StringBuilder html) {
        html.append("<section>\n<h2>Environment</h2>\n<table class=\"facts\">\n");
        rows(html, environment.facts());
        html.append("<tr><th>Whole run</th><td>")
                .append(totalSeconds)
                .append(
                        " s, data generation and start included</td></tr>\n</table>\n<h2>Spark settings, both sides</h2>\n")
                .append("<table class=\"facts\">\n");
        rows(html, environment.sharedConfs());
        html.append("</table>\n");
        if (!environment.ourConfs().isEmpty()) {
            html.append("<h2>Spark settings, Verbena only</h2>\n<table class=\"facts\">\n");
            rows(html, environment.ourConfs());
            html.append("</table>\n");
        }
        html.append("</section>\n");
    }

    private static void rows(StringBuilder html, Map<String, String> values) {
        values.forEach((name, value) -> html.append("<tr><th>")
                .append(HtmlText.escape(name))
                .append("</th><td>")
                .append(HtmlText.escape(value))
                .append("</td></tr>\n"));
    }
}
