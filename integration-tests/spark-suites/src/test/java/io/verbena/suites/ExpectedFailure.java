package io.verbena.suites;

import java.io.IOException;
import java.util.List;

/**
 * A test of Spark's that fails with our shuffle, and why that is right.
 *
 * @param suite the suite's simple name
 * @param test the test's name
 * @param alsoWithoutUs whether it fails with Spark's own shuffle too
 * @param reason in words
 */
record ExpectedFailure(String suite, String test, boolean alsoWithoutUs, String reason) {
    /** Returns all of a line. */
    static List<ExpectedFailure> of(SparkLine line) throws IOException {
        return of(line, Table.read("expected-failures.tsv", 5));
    }

    static List<ExpectedFailure> of(SparkLine line, List<List<String>> rows) {
        return rows.stream()
                .filter(row -> line.isIn(row.get(1)))
                .map(row -> new ExpectedFailure(row.get(0), row.get(3), alsoWithoutUs(row.get(2)), row.get(4)))
                .toList();
    }

    private static boolean alsoWithoutUs(String column) {
        return switch (column) {
            case "both" -> true;
            case "ours" -> false;
            default ->
                throw new IllegalArgumentException(
                        "unknown kind of expected failure: kind=" + column + ", allowed=both,ours");
        };
    }
}
