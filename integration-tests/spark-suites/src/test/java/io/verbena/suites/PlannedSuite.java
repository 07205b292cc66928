package io.verbena.suites;

import io.verbena.suites.ExpectedFailure.Kind;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/**
 * A suite whose runs wait for their turn or are under way.
 *
 * @param expected its failures that are listed
 * @param ours the whole suite with our shuffle
 * @param sparks the listed tests with Spark's own shuffle, if any is listed
 * @param compressed the tests listed as {@link Kind#SIZES} with compressed blocks, if any is
 */
record PlannedSuite(
        SparkSuite suite,
        List<ExpectedFailure> expected,
        Future<SuiteRun> ours,
        Optional<Future<SuiteRun>> sparks,
        Optional<Future<SuiteRun>> compressed) {
    static PlannedSuite start(
            SparkSuite suite, List<ExpectedFailure> listed, SuiteLauncher launcher, ExecutorService threads) {
        List<ExpectedFailure> expected = listed.stream()
                .filter(failure -> failure.suite().equals(suite.simpleName()))
                .toList();
        return new PlannedSuite(
                suite,
                expected,
                threads.submit(() -> launcher.ours(suite)),
                names(expected).map(names -> threads.submit(() -> launcher.sparks(suite, names))),
                names(sizes(expected)).map(names -> threads.submit(() -> launcher.compressed(suite, names))));
    }

    private static List<ExpectedFailure> sizes(List<ExpectedFailure> expected) {
        return expected.stream()
                .filter(failure -> failure.kind() == Kind.SIZES)
                .toList();
    }

    private static Optional<List<String>> names(List<ExpectedFailure> expected) {
        return Optional.of(expected.stream().map(ExpectedFailure::test).toList())
                .filter(names -> !names.isEmpty());
    }

    List<ExpectedFailure> sizes() {
        return sizes(expected);
    }
}
