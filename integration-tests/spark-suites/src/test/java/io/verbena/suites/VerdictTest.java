package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import io.verbena.suites.Verdict.Check;
import java.util.List;
import org.junit.jupiter.api.Test;

class VerdictTest {
    private static final ExpectedFailure LISTED = new ExpectedFailure("S", "listed", ExpectedFailure.Kind.OURS, "looks for a file");

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
    void shouldRefuseAListedTestThatDoesNotExist() {
        assertThat(Verdict.of(List.of(), List.of(LISTED)).checks())
                .singleElement()
                .satisfies(check -> assertThat(check.problem()).contains("no test of that name"));
    }
}
