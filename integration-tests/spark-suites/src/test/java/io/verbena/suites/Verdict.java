package io.verbena.suites;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the results of a suite mean beside the list of expected failures, which must be exact.
 *
 * @param checks a check for each test that ran, and for each listed one that did not
 * @param ignored how many tests Spark itself ignored or cancelled
 */
record Verdict(List<Check> checks, int ignored) {
    /** One test; {@code problem} is empty when it ended as it should. */
    record Check(String test, boolean expectedToFail, String problem) {}

    static Verdict of(List<Result> results, List<ExpectedFailure> expected) {
        Map<String, ExpectedFailure> open = new HashMap<>();
        expected.forEach(failure -> open.put(failure.test(), failure));
        List<Check> checks = new ArrayList<>();
        int ignored = 0;
        for (Result result : results) {
            ExpectedFailure listed = open.remove(result.name());
            if (listed != null) {
                checks.add(new Check(
                        result.name(),
                        result.outcome() != Outcome.PASSED,
                        listed.allows(result)
                                ? ""
                                : "is listed as an expected failure (" + listed.reason() + ") but was "
                                        + result.outcome() + " " + result.message()));
            } else if (result.outcome() == Outcome.SKIPPED) {
                ignored++;
            } else {
                checks.add(new Check(
                        result.name(), false, result.outcome() == Outcome.PASSED ? "" : "failed: " + result.message()));
            }
        }
        open.values()
                .forEach(listed -> checks.add(new Check(
                        listed.test(), true, "is listed as an expected failure, but no test of that name ran")));
        return new Verdict(checks, ignored);
    }

    long count(boolean expectedToFail) {
        return checks.stream()
                .filter(check -> check.expectedToFail() == expectedToFail
                        && check.problem().isEmpty())
                .count();
    }
}
