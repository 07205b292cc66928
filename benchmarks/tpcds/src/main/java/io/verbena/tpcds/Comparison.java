package io.verbena.tpcds;

import io.verbena.tpcds.RowMatcher.Unmatched;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Compares what two sides returned for one query.
 *
 * <p>First as it stands: same column types, same rows in the same order. Only when that fails are both sides asked for their full
 * result ({@link FullResult}): these must be the same rows, and each side's returned rows must be a valid answer ({@link TieRules}).
 * Two results that differ in any other way are {@link Verdict#DIFFERENT}.
 */
final class Comparison {
    private static final int MAX_ROWS_SHOWN = 200;

    private Comparison() {}

    /** Runs the query without its LIMIT on one side. */
    interface FullRun {
        TieRules run() throws IOException;
    }

    /** @param details empty when the verdict needs none, else one finding per line */
    record Outcome(Verdict verdict, List<String> details) {}

    /** @throws IOException when a full result is needed and cannot be had */
    static Outcome compare(TypedRows sort, TypedRows ours, FullRun sortFull, FullRun oursFull) throws IOException {
        if (!sort.types().equals(ours.types())) {
            return new Outcome(
                    Verdict.DIFFERENT, List.of("column types differ: sort=" + sort.types() + ", ours=" + ours.types()));
        }
        RowMatcher matcher = new RowMatcher(sort.types());
        if (matcher.sameSequence(sort.rows(), ours.rows())) {
            return new Outcome(Verdict.EQUAL, List.of());
        }
        return compareFully(sort, ours, sortFull.run(), oursFull.run());
    }

    private static Outcome compareFully(TypedRows sort, TypedRows ours, TieRules sortFull, TieRules oursFull) {
        List<String> findings = new ArrayList<>();
        Unmatched unmatched = new RowMatcher(sortFull.full().types())
                .unmatched(sortFull.full().rows(), oursFull.full().rows());
        if (!unmatched.isEmpty()) {
            findings.add("results without LIMIT differ (last columns: ORDER BY values): rows sort="
                    + sortFull.full().rows().size() + ", ours="
                    + oursFull.full().rows().size());
            addRows(findings, "only sort: ", unmatched.onlyLeft());
            addRows(findings, "only ours: ", unmatched.onlyRight());
        }
        Optional<String> sortViolation = sortFull.violation(sort);
        Optional<String> oursViolation = oursFull.violation(ours);
        sortViolation.ifPresent(why -> findings.add("sort returned no valid answer to ORDER BY and LIMIT: " + why));
        oursViolation.ifPresent(why -> findings.add("ours returned no valid answer to ORDER BY and LIMIT: " + why));
        if (findings.isEmpty()) {
            return new Outcome(Verdict.EQUAL_WITH_TIES, List.of());
        }
        return new Outcome(Verdict.DIFFERENT, findings);
    }

    private static void addRows(List<String> findings, String label, List<List<String>> rows) {
        rows.stream().limit(MAX_ROWS_SHOWN).forEach(row -> findings.add(label + TypedRows.line(row)));
        if (rows.size() > MAX_ROWS_SHOWN) {
            findings.add(label + (rows.size() - MAX_ROWS_SHOWN) + " more rows");
        }
    }
}
