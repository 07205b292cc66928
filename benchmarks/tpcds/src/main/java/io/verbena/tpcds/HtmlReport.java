package io.verbena.tpcds;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** The page: one file without scripts or references, so that it can be mailed and archived. */
final class HtmlReport {
    private final Environment environment;
    private final Summary summary;
    private final long totalSeconds;
    private final String ours;

    /** @param totalSeconds how long the whole run took, data generation included */
    HtmlReport(Environment environment, Summary summary, long totalSeconds) {
        this.environment = environment;
        this.summary = summary;
        this.totalSeconds = totalSeconds;
        this.ours = HtmlText.escape(environment.ourName());
    }

    String render() {
        String body = header()
                + tiles()
                + chart(
                        "Wall time per query",
                        "Seconds from query text to last row, median of the timed runs.",
                        RunMetrics::wallNs)
                + chart(
                        "Executor CPU per query",
                        "CPU seconds of the executor processes: task, network, GC and JIT threads.",
                        RunMetrics::executorCpuNs)
                + table()
                + differences()
                + method()
                + environment();
        return HtmlText.format("""
                <!DOCTYPE html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <title>TPC-DS: sort shuffle and %s</title>
                <style>
                %s</style>
                </head>
                <body>
                <main>
                %s</main>
                </body>
                </html>
                """, ours, style(), body);
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

    private String header() {
        String outcome = summary.passedCount() + " of " + summary.results().size() + " results equal";
        if (!summary.allPassed()) {
            outcome += ": " + summary.count(Verdict.DIFFERENT) + " different, " + summary.count(Verdict.FAILED)
                    + " failed";
        }
        return HtmlText.format(
                """
                <header>
                <h1>TPC-DS: sort shuffle and %s</h1>
                <p class="sub">Scale factor %s · Spark %s · %s · %s</p>
                <p class="verdict %s">%s</p>
                </header>
                """,
                ours,
                fact("Scale factor"),
                fact("Spark"),
                fact("Master, each side"),
                fact("Date"),
                summary.allPassed() ? "good" : "bad",
                outcome);
    }

    private String fact(String name) {
        return HtmlText.escape(environment.facts().getOrDefault(name, "-"));
    }

    private String tiles() {
        String slower = summary.slowerCount() + " of " + summary.results().size();
        return HtmlText.format(
                """
                <section class="tiles">
                %s</section>
                <p class="note">Ratios are sort ÷ %s, geometric mean over the queries: above 1 %s needs less. Totals are sums of \
                medians. Colours mark differences of 5 %% and more, which a busy machine can produce by itself.</p>
                """,
                ratioTile("Wall time", RunMetrics::wallNs)
                        + ratioTile("Task CPU", RunMetrics::taskCpuNs)
                        + ratioTile("Executor CPU", RunMetrics::executorCpuNs)
                        + tile("even", slower, "slower with " + ours, "wall time, any margin"),
                ours,
                ours);
    }

    private String ratioTile(String name, ToLongFunction<RunMetrics> metric) {
        double ratio = summary.geometricMean(metric);
        if (Double.isNaN(ratio)) {
            return tile("even", Figures.ratio(ratio), name, "not measured with this master");
        }
        String totals = "total " + Figures.seconds(summary.total(Side.SORT, metric)) + " s → "
                + Figures.seconds(summary.total(Side.OURS, metric)) + " s";
        return tile(HtmlText.ratioClass(ratio), Figures.ratio(ratio) + "×", name, totals);
    }

    private static String tile(String style, String figure, String name, String detail) {
        return HtmlText.format("""
                <div class="tile"><div class="figure %s">%s</div><div class="label">%s</div><div class="detail">%s</div></div>
                """, style, figure, name, detail);
    }

    private String chart(String title, String caption, ToLongFunction<RunMetrics> metricNs) {
        BarChart chart = new BarChart(summary.results(), metricNs);
        if (!chart.hasData()) {
            return "";
        }
        return HtmlText.format("""
                <section>
                <h2>%s</h2>
                <p class="note">%s <span class="key sort"></span> sort <span class="key ours"></span> %s; at the right: sort ÷ %s.</p>
                %s</section>
                """, title, caption, ours, ours, chart.render(title));
    }

    private String table() {
        return HtmlText.format(
                """
                <section>
                <h2>All figures</h2>
                <div class="scroll"><table>
                <thead><tr><th>Query</th><th>AQE</th><th class="n">Rows</th><th class="n">Sort s</th><th class="n">%s s</th>\
                <th class="n">Ratio</th><th class="n">Task CPU ratio</th><th class="n">Executor CPU ratio</th>\
                <th class="n">Shuffle written, sort</th><th class="n">%s</th><th>Result</th></tr></thead>
                <tbody>
                %s</tbody>
                </table></div>
                </section>
                """, ours, ours, summary.results().stream().map(HtmlReport::row).collect(Collectors.joining()));
    }

    private static String row(QueryComparison result) {
        return "<tr><td>" + HtmlText.escape(result.query()) + "</td><td>" + (result.adaptive() ? "on" : "off") + "</td>"
                + cell("", Figures.count(result, Side.SORT))
                + cell("", Figures.seconds(result, Side.SORT, RunMetrics::wallNs))
                + cell("", Figures.seconds(result, Side.OURS, RunMetrics::wallNs))
                + ratioCell(result.ratio(RunMetrics::wallNs))
                + ratioCell(result.ratio(RunMetrics::taskCpuNs))
                + ratioCell(result.ratio(RunMetrics::executorCpuNs))
                + cell("", Figures.megabytes(result, Side.SORT))
                + cell("", Figures.megabytes(result, Side.OURS))
                + "<td class=\"" + (result.verdict().passed() ? "good" : "bad") + "\">"
                + result.verdict().label() + "</td></tr>\n";
    }

    private static String cell(String style, String text) {
        return "<td class=\"n " + style + "\">" + text + "</td>";
    }

    private static String ratioCell(double ratio) {
        return cell(HtmlText.ratioClass(ratio), Figures.ratio(ratio));
    }

    private String differences() {
        String list = summary.results().stream()
                .filter(result -> !result.verdict().passed())
                .map(result -> "<h3>" + HtmlText.escape(result.title()) + ": "
                        + result.verdict().label() + "</h3>\n<pre>"
                        + HtmlText.escape(String.join("\n", result.details())) + "</pre>\n")
                .collect(Collectors.joining());
        return HtmlText.format("""
                <section>
                <h2>Differences and failures</h2>
                %s</section>
                """, list.isEmpty() ? "<p>None.</p>\n" : list);
    }

    private String method() {
        return HtmlText.format(
                """
                <section>
                <h2>How it was compared</h2>
                <ul>
                <li>One Spark driver with its own executors per side, same data and settings; the sides take turns query by query and \
                alternate who goes first. One untimed run of the first query warms both up.</li>
                <li>Equal means: same column types, same rows, same order; every value exactly, except float and double columns, where a \
                relative difference of %s is allowed.</li>
                <li>“%s” means: order, or the choice of rows at the LIMIT, differs only among rows with equal ORDER BY values, and the \
                query without its LIMIT, run again on both sides, gave the same rows. This concerns %d of the results above.</li>
                <li>%d queries returned no rows at this scale: for these, equality says little.</li>
                </ul>
                <h2>What was not measured</h2>
                <ul>
                <li>A real network: with a local cluster all executors share one host, so reads between hosts, RDMA hardware and network \
                bandwidth play no part.</li>
                <li>Spread: %s timed runs per query and side on a machine that may do other work. Small ratios are noise; repeat with \
                --repeat before relying on them.</li>
                <li>A TPC-DS score: the queries run one at a time, a subset unless all are listed, with the settings below.</li>
                <li>Memory: what the executors held, on or off the heap, is not recorded here.</li>
                </ul>
                </section>
                """,
                HtmlText.format("%.0e", RowMatcher.TOLERANCE),
                Verdict.EQUAL_WITH_TIES.label(),
                summary.count(Verdict.EQUAL_WITH_TIES),
                summary.emptyCount(),
                fact("Timed runs per query and side"));
    }

    private String environment() {
        String ourSettings = environment.ourConfs().isEmpty()
                ? ""
                : facts("Spark settings, " + ours + " only", environment.ourConfs(), "");
        return "<section>\n"
                + facts(
                        "Environment",
                        environment.facts(),
                        "<tr><th>Whole run</th><td>" + totalSeconds
                                + " s, start and data generation included</td></tr>\n")
                + facts("Spark settings, both sides", environment.sharedConfs(), "")
                + ourSettings
                + "</section>\n";
    }

    private static String facts(String title, Map<String, String> values, String lastRow) {
        String rows = values.entrySet().stream()
                .map(entry -> "<tr><th>" + HtmlText.escape(entry.getKey()) + "</th><td>"
                        + HtmlText.escape(entry.getValue()) + "</td></tr>\n")
                .collect(Collectors.joining());
        return HtmlText.format("""
                <h2>%s</h2>
                <table class="facts">
                %s%s</table>
                """, title, rows, lastRow);
    }
}
