package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
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

    /** The suites wait for much: executors to start, to be lost, to be found lost. More at a time would be slower than their limits. */
    private static final int AT_A_TIME = 2;

    private final ExecutorService threads = Executors.newFixedThreadPool(AT_A_TIME);
    private final SparkLine line = SparkLine.current();
    private final List<String> rows = new ArrayList<>();
    private final long[] totals = new long[6];

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

        SuiteLauncher launcher = SuiteLauncher.in(Path.of("target", "spark-suites"));
        // All are handed to the threads at once, also those that come after one that JUnit still waits for.
        List<PlannedSuite> planned = suites.stream()
                .map(suite -> PlannedSuite.start(suite, expected, launcher, threads))
                .toList();
        return planned.stream()
                .map(suite -> DynamicContainer.dynamicContainer(
                        suite.suite().simpleName(), Stream.of(suite).flatMap(this::nodes)));
    }

    private Stream<DynamicNode> nodes(PlannedSuite planned) {
        SparkSuite suite = planned.suite();
        SuiteRun run;
        try {
            run = planned.ours().get();
        } catch (InterruptedException | ExecutionException e) {
            return Stream.of(test("runs to its end", () -> {
                throw e;
            }));
        }
        Verdict verdict = Verdict.of(run.results(), planned.expected());
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
        Stream<DynamicNode> controls = Stream.of(
                        planned.sparks()
                                .map(control -> test(
                                        "with Spark's own shuffle",
                                        () -> assertOutcomes(
                                                planned.expected(),
                                                failure -> failure.passesWithSparks(run.results()),
                                                control.get()))),
                        planned.compressed()
                                .map(control -> test(
                                        "with compressed blocks",
                                        () -> assertOutcomes(planned.sizes(), failure -> true, control.get()))))
                .flatMap(Optional::stream);
        return Stream.of(runs, tests, controls).flatMap(s -> s);
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

    private static void assertOutcomes(
            List<ExpectedFailure> listed, Predicate<ExpectedFailure> passes, SuiteRun control) throws IOException {
        Map<String, Outcome> outcomes =
                control.results().stream().collect(Collectors.toMap(Result::name, Result::outcome, (a, b) -> b));
        assertThat(outcomes)
                .as("outcomes of the listed tests%s", control.tail())
                .isEqualTo(listed.stream()
                        .collect(Collectors.toMap(
                                ExpectedFailure::test,
                                failure -> passes.test(failure) ? Outcome.PASSED : Outcome.FAILED)));
    }

    private void count(SparkSuite suite, SuiteRun run, Verdict verdict) {
        long problems = verdict.checks().stream()
                .filter(check -> !check.problem().isEmpty())
                .count();
        List<Long> counts = List.of(
                (long) verdict.checks().size(),
                verdict.count(false),
                verdict.count(true),
                problems,
                (long) verdict.ignored(),
                Math.round(run.seconds()));
        rows.add(row(suite.simpleName(), counts, run.shuffles().toString()));
        for (int i = 0; i < totals.length; i++) {
            totals[i] += counts.get(i);
        }
    }

    private static String row(String suite, List<?> counts, String shuffles) {
        return String.format(Locale.ROOT, "%-42s", suite)
                + String.format(Locale.ROOT, " %6s %6s %8s %6s %7s %7s", counts.toArray())
                + "  " + shuffles;
    }
    /** A run that is under way is killed with all it has started. */
    @AfterAll
    void stop() throws InterruptedException {
        threads.shutdownNow();
        assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }

    @AfterAll
    void print() throws IOException {
        List<String> lines = new ArrayList<>();
        lines.add("Spark " + line.name() + ", Scala " + System.getProperty("verbena.scalaVersion") + ", JDK "
                + Runtime.version().feature());
        lines.add(row("suite", List.of("run", "passed", "expected", "failed", "ignored", "seconds"), "shuffles"));
        lines.addAll(rows);
        lines.add(row("all", LongStream.of(totals).boxed().toList(), ""));
        lines.forEach(System.out::println);
        Files.write(Path.of("target", "spark-suites", "summary.txt"), lines);
    }
}
