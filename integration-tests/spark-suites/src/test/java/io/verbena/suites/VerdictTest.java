package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import io.verbena.suites.Verdict.Check;
import java.util.List;
import org.junit.jupiter.api.Test;

class VerdictTest {
    private static final ExpectedFailure LISTED =
            new ExpectedFailure("S", "listed", ExpectedFailure.Kind.OURS, "looks for a file");

    private static Result result(String name, Outcome outcome) {
        return new Result("a.S", name, outcome, outcome == Outcome.FAILED ? "1 was not 2" : "");
    }

    @Test
    void shouldAcceptExactlyTheListedFailures() {
        Verdict verdict = Verdict.of(
                List.of(
                        result("good", Outcome.PASSED),
                        result("listed", Outcome.FAILED),
                        result("ignored", Outcome.SKIPPED)),
                List.of(LISTED));
        assertThat(verdict.checks()).containsExactly(new Check("good", false, ""), new Check("listed", true, ""));
        assertThat(verdict.ignored()).isEqualTo(1);
        assertThat(verdict.count(false)).isEqualTo(1);
        assertThat(verdict.count(true)).isEqualTo(1);
    }

    @Test
    void shouldRefuseAFailureThatIsNotListed() {
        Verdict verdict = Verdict.of(List.of(result("bad", Outcome.FAILED)), List.of());
        assertThat(verdict.checks()).containsExactly(new Check("bad", false, "failed: 1 was not 2"));
        assertThat(verdict.count(false)).isZero();
    }

    @Test
    void shouldRefuseAListedTestThatPassesOrIsIgnored() {
        for (Outcome outcome : List.of(Outcome.PASSED, Outcome.SKIPPED)) {
            Verdict verdict = Verdict.of(List.of(result("listed", outcome)), List.of(LISTED));
            assertThat(verdict.checks())
                    .singleElement()
                    .satisfies(check -> assertThat(check.problem())
                            .contains("looks for a file")
                            .contains("was " + outcome));
            assertThat(verdict.count(true)).isZero();
        }
    }

    @Test
    void shouldAcceptEitherEndOfATestThatFetchesButNoOtherFailure() {
        ExpectedFailure fetches = new ExpectedFailure("S", "listed", ExpectedFailure.Kind.FETCHES, "fetches a jar");
        Result passed = result("listed", Outcome.PASSED);
        Result unresolved = new Result("a.S", "listed", Outcome.FAILED, "[unresolved dependency: a#b;1: not found]");

        assertThat(Verdict.of(List.of(passed), List.of(fetches)).checks())
                .containsExactly(new Check("listed", false, ""));
        assertThat(fetches.passesWithSparks(List.of(passed))).isTrue();
        assertThat(Verdict.of(List.of(unresolved), List.of(fetches)).checks())
                .containsExactly(new Check("listed", true, ""));
        assertThat(fetches.passesWithSparks(List.of(unresolved))).isFalse();
        for (Outcome outcome : List.of(Outcome.FAILED, Outcome.SKIPPED)) {
            assertThat(Verdict.of(List.of(result("listed", outcome)), List.of(fetches))
                            .checks())
                    .singleElement()
                    .satisfies(check -> assertThat(check.problem()).contains("fetches a jar", "was " + outcome));
        }
    }

    @Test
    void shouldRefuseAListedTestThatDoesNotExist() {
        assertThat(Verdict.of(List.of(), List.of(LISTED)).checks())
                .singleElement()
                .satisfies(check -> assertThat(check.problem()).contains("no test of that name"));
    }
}
