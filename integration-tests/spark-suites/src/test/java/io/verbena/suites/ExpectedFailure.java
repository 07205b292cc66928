package io.verbena.suites;

import io.verbena.guest.SuiteReport.Outcome;
import io.verbena.guest.SuiteReport.Result;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/**
 * A test of Spark's that fails with our shuffle, and why that is right.
 *
 * @param suite the suite's simple name
 * @param test the test's name
 * @param kind what the control runs must show
 * @param reason in words
 */
record ExpectedFailure(String suite, String test, Kind kind, String reason) {
    /** How the failure depends on us. */
    enum Kind {
        /** It fails with Spark's own shuffle too. */
        BOTH,
        /** It passes with Spark's own shuffle. */
        OURS,
        /** As {@link #OURS}, and it passes with ours once our blocks are compressed as Spark's are. */
        SIZES,
        /** It fetches from the network what not every repository has: it may pass, and with Spark's own shuffle it ends alike. */
        FETCHES
    }

    /** Whether the suite may end so. */
    boolean allows(Result result) {
        return switch (result.outcome()) {
            case FAILED -> kind != Kind.FETCHES || result.message().contains("unresolved dependency");
            case PASSED -> kind == Kind.FETCHES;
            case SKIPPED -> false;
        };
    }

    /**
     * Whether it must pass with Spark's own shuffle.
     *
     * @param ours the suite's results with our shuffle
     */
    boolean passesWithSparks(List<Result> ours) {
        return switch (kind) {
            case BOTH -> false;
            case OURS, SIZES -> true;
            case FETCHES ->
                ours.stream().anyMatch(result -> result.name().equals(test) && result.outcome() == Outcome.PASSED);
        };
    }

    /** Returns all of a line. */
    static List<ExpectedFailure> of(SparkLine line) throws IOException {
        return of(line, Table.read("expected-failures.tsv", 5));
    }

    /** A row may name several suites, which share the test. */
    static List<ExpectedFailure> of(SparkLine line, List<List<String>> rows) {
        return rows.stream()
                .filter(row -> line.isIn(row.get(1)))
                .flatMap(row -> Stream.of(row.get(0).split(",", -1))
                        .map(suite -> new ExpectedFailure(suite, row.get(3), Kind.valueOf(row.get(2)), row.get(4))))
                .toList();
    }
}
