package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import io.verbena.suites.Verdict.Check;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.function.Executable;

/**
 * Spark's own suites under our shuffle manager, each in a JVM of its own; their tests are reported as this test's. What fails must be
 * exactly what expected-failures.tsv lists.
 *
 * <p>They are run by ScalaTest's runner, whose reports this test reads: ScalaTest's engine for the JUnit platform does not report
 * cancelled tests, and reports suites that were aborted as successful.
 */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SparkSuitesTest {
    private static final String SELECTION = System.getProperty("verbena.suites", ".*");

    private final SparkLine line = SparkLine.current();
    private final List<String> rows = new ArrayList<>();
    private long passed;
    private long expectedFailures;
    private boolean complete = true;

    @TestFactory
    Stream<DynamicContainer> shouldPassUnderOurManager() throws Exception {
        List<ExpectedFailure> expected = ExpectedFailure.of(line);
        List<SparkSuite> all = SparkSuite.of(line);
        assertThat(all)
                .extracting(SparkSuite::simpleName)
                .as("suites with expected failures")
                .containsAll(expected.stream().map(ExpectedFailure::suite).toList());
        List<SparkSuite> suites = all.stream()
                .filter(suite -> suite.simpleName().matches(SELECTION))
                .toList();
        assertThat(suites).as("suites that match %s", SELECTION).isNotEmpty();
        complete = suites.size() == all.size();

        SuiteLauncher launcher = SuiteLauncher.in(Path.of("target", "spark-suites"));
        return suites.stream()
                .map(suite -> DynamicContainer.dynamicContainer(
                        suite.simpleName(),
                        // Lazily: a suite runs when JUnit comes to it.
                        Stream.of(suite)
                                .flatMap(s -> nodes(
                                        launcher,
                                        s,
                                        expected.stream()
                                                .filter(failure ->
                                                        failure.suite().equals(s.simpleName()))
                                                .toList()))));
    }

    private Stream<DynamicNode> nodes(SuiteLauncher launcher, SparkSuite suite, List<ExpectedFailure> expected) {
        SuiteRun run;
        try {
            run = launcher.ours(suite);
        } catch (Exception | AssertionError e) {
            complete = false;
            return Stream.of(test("runs", () -> {
                throw e;
            }));
        }
        Verdict verdict = Verdict.of(run.results(), expected);
        count(suite, run, verdict);
        Stream<DynamicNode> tests = verdict.checks().stream()
                .map(check -> test(check.test(), () -> {
                    if (!check.problem().isEmpty()) {
                        fail(suite.simpleName() + ": " + check.test() + ": " + check.problem());
                    }
                }));
        Stream<DynamicNode> runs = Stream.of(
                test("runs to its end", () -> assertEnd(run)),
                test(
                        "leaves no shared memory",
                        () -> assertThat(run.leftFiles()).isEmpty()),
                test("shuffles: " + suite.shuffles(), () -> assertShuffles(suite, run.shuffles())));
        Stream<DynamicNode> control = expected.isEmpty()
                ? Stream.of()
                : Stream.of(test("with Spark's own shuffle", () -> assertControl(launcher, suite, expected)));
        return Stream.of(runs, tests, control).flatMap(s -> s);
    }

    private static DynamicNode test(String name, Executable executable) {
        return DynamicTest.dynamicTest(name, executable);
    }

    private static void assertEnd(SuiteRun run) throws IOException {
        boolean failures = run.results().stream().anyMatch(result -> result.outcome() == Outcome.FAILED);
        assertThat(run.exitStatus()).as("exit status%s", run.tail()).isEqualTo(failures ? 1 : 0);
        assertThat(run.aborted()).as("aborted%s", run.tail()).isFalse();
        assertThat(run.results()).as("tests%s", run.tail()).isNotEmpty();
    }

    private static void assertShuffles(SparkSuite suite, Map<String, Integer> shuffles) {
        if (suite.shuffles().equals(SparkSuite.NONE)) {
            assertThat(shuffles).isEmpty();
        } else {
            assertThat(shuffles).containsOnlyKeys(suite.shuffles());
        }
    }

    /** What is listed as a failure without us too must be one, what is listed as ours only must not. */
    private static void assertControl(SuiteLauncher launcher, SparkSuite suite, List<ExpectedFailure> expected)
            throws Exception {
        SuiteRun run = launcher.sparks(
                suite, expected.stream().map(ExpectedFailure::test).toList());
        Map<String, Outcome> outcomes =
                run.results().stream().collect(Collectors.toMap(Result::name, Result::outcome, (a, b) -> b));
        assertThat(outcomes)
                .as("outcomes with Spark's own shuffle%s", run.tail())
                .isEqualTo(expected.stream()
                        .collect(Collectors.toMap(
                                ExpectedFailure::test,
                                failure -> failure.alsoWithoutUs() ? Outcome.FAILED : Outcome.PASSED)));
    }

    private void count(SparkSuite suite, SuiteRun run, Verdict verdict) {
        List<Check> problems = verdict.checks().stream()
                .filter(check -> !check.problem().isEmpty())
                .toList();
        passed += verdict.count(false);
        expectedFailures += verdict.count(true);
        rows.add(row(
                suite.simpleName(),
                verdict.checks().size(),
                verdict.count(false),
                verdict.count(true),
                problems.size(),
                verdict.ignored(),
                String.format(Locale.ROOT, "%.1f", run.seconds()),
                run.shuffles()));
    }

    private static String row(Object... columns) {
        return String.format(Locale.ROOT, "%-45s %5s %7s %9s %7s %8s %8s  %s", columns);
    }

    /** The totals go to a file as well: the README's table of what was run is made from such files. */
    @AfterAll
    void print() throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add(row("suite", "run", "passed", "expected", "failed", "ignored", "seconds", "shuffles"));
        lines.addAll(rows);
        lines.forEach(System.out::println);
        Files.write(Path.of("target", "spark-suites", "summary.txt"), lines);
        if (complete) {
            Files.writeString(
                    Path.of("target", "compatibility.tsv"),
                    String.join(
                                    "\t",
                                    line.name(),
                                    System.getProperty("verbena.scalaVersion"),
                                    Integer.toString(Runtime.version().feature()),
                                    "spark-suites",
                                    Long.toString(passed),
                                    Long.toString(expectedFailures))
                            + "\n");
        }
    }
}
