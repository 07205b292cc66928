package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.StringReader;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

class HtmlReportTest {
    private static final Environment ENVIRONMENT = new Environment(
            "Verbena",
            Map.of("Spark", "4.0", "CPU", "<fast> & \"cheap\""),
            Map.of("spark.a", "1"),
            Map.of("spark.only.ours", "2"));

    private final QueryComparison win = comparison("q1", 4_000, 1_000, Verdict.EQUAL);
    private final QueryComparison loss = comparison("q2", 1_000, 2_000, Verdict.EQUAL_WITH_TIES);
    private final QueryComparison wrong = new QueryComparison(
            "q3", false, List.of(run(1_000)), List.of(run(1_000)), Verdict.DIFFERENT, List.of("only ours: <x>"));
    private final QueryComparison failed = new QueryComparison(
            "q4", true, List.of(run(1_000)), List.of(), Verdict.FAILED, List.of("ours failed: boom"));

    @Test
    void shouldShowLossesLikeWins() {
        String page = render(win, loss);

        assertThat(page).contains("2 of 2 results equal").contains("<td class=\"n win\">4.00</td>");
        assertThat(page)
                .contains("<td class=\"n loss\">0.50</td>")
                .contains("1 of 2</div><div class=\"label\">slower with Verbena");
    }

    @Test
    void shouldListEveryDifferenceAndFailureEscaped() {
        String page = render(win, wrong, failed);

        assertThat(page).contains("1 of 3 results equal: 1 different, 1 failed");
        assertThat(page)
                .contains("q3 aqe=off: DIFFERENT")
                .contains("only ours: &lt;x&gt;")
                .doesNotContain("<x>");
        assertThat(page).contains("q4 aqe=on: FAILED").contains("ours failed: boom");
    }

    @Test
    void shouldNameSettingsAndMachine() {
        assertThat(render(win))
                .contains("&lt;fast&gt; &amp; &quot;cheap&quot;")
                .contains("spark.a")
                .contains("spark.only.ours");
    }

    @Test
    void shouldNotCallAnotherManagerVerbena() {
        Environment other = new Environment("sort (ours)", ENVIRONMENT.facts(), Map.of(), Map.of());

        assertThat(new HtmlReport(other, new Summary(List.of(win)), 1).render())
                .contains("sort (ours)")
                .doesNotContain("Verbena");
    }

    @Test
    void shouldStandAlone() {
        assertThat(render(win)).doesNotContain("http:", "https:", "<script", "<link", "src=");
    }

    @Test
    void shouldDrawTwoBarsPerMeasuredQuery() throws Exception {
        BarChart chart = new BarChart(List.of(win, loss, failed), RunMetrics::wallNs);

        Document svg = DocumentBuilderFactory.newDefaultInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(chart.render("a < b"))));

        assertThat(svg.getElementsByTagName("rect").getLength()).isEqualTo(4);
    }

    @Test
    void shouldSayThatExecutorCpuWasNotMeasuredInsteadOfDrawingIt() {
        RunMetrics without = new RunMetrics(1_000, 1_000, RunMetrics.NOT_MEASURED, 0, 0, 1);
        QueryComparison result =
                new QueryComparison("q1", true, List.of(without), List.of(without), Verdict.EQUAL, List.of());

        assertThat(render(result)).contains("not measured with this master").doesNotContain("Executor CPU per query");
    }

    @Test
    void shouldRenderWhenNothingWasMeasured() {
        assertThat(render(failed)).contains("0 of 1 results equal").doesNotContain("NaN");
    }

    @Test
    void shouldTakeTheGeometricMeanOfRatios() {
        Summary summary = new Summary(List.of(win, loss, failed));

        assertThat(summary.geometricMean(RunMetrics::wallNs)).isCloseTo(Math.sqrt(2), within(1e-12));
        assertThat(summary.total(Side.SORT, RunMetrics::wallNs)).isEqualTo(5_000e6);
        assertThat(summary.allPassed()).isFalse();
    }

    @Test
    void shouldTakeMediansOverRuns() {
        QueryComparison result = new QueryComparison(
                "q1", true, List.of(run(9), run(1), run(2)), List.of(run(1), run(4)), Verdict.EQUAL, List.of());

        assertThat(result.median(Side.SORT, RunMetrics::wallNs)).isEqualTo(2e6);
        assertThat(result.median(Side.OURS, RunMetrics::wallNs)).isEqualTo(2.5e6);
    }

    private static String render(QueryComparison... results) {
        return new HtmlReport(ENVIRONMENT, new Summary(List.of(results)), 12).render();
    }

    private static QueryComparison comparison(String query, long sortMs, long oursMs, Verdict verdict) {
        return new QueryComparison(query, true, List.of(run(sortMs)), List.of(run(oursMs)), verdict, List.of());
    }

    private static RunMetrics run(long ms) {
        return new RunMetrics(ms * 1_000_000, ms * 900_000, ms * 950_000, 5_000_000, 5_000_000, 42);
    }
}
