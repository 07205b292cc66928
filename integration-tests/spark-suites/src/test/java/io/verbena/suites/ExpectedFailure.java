package io.verbena.suites;

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
        SIZES
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
                        .map(suite -> new ExpectedFailure(
                                suite, row.get(3), Kind.valueOf(row.get(2)), row.get(4))))
                .toList();
    }
}
