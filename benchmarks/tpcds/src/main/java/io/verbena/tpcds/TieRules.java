package io.verbena.tpcds;

import io.verbena.tpcds.RowMatcher.Unmatched;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Tells whether the rows that a query returned are one of the answers its ORDER BY and LIMIT allow.
 *
 * <p>The full result (the same query without LIMIT, in order, with the ORDER BY values as its last columns) falls into runs of equal
 * ORDER BY values. Rows within a run may come in any order, and a LIMIT that cuts a run may keep any of its rows. So the returned rows
 * at a run's positions must be exactly that run's rows, or, for the run that the LIMIT cuts, some of them; nothing else is a tie.
 */
final class TieRules {
    private final TypedRows full;
    private final int columnCount;
    private final OptionalLong limit;

    /**
     * @param full the full result with the ORDER BY values appended
     * @param keyCount how many columns were appended
     * @param limit of the query as written
     */
    TieRules(TypedRows full, int keyCount, OptionalLong limit) {
        this.full = full;
        this.columnCount = full.types().size() - keyCount;
        this.limit = limit;
    }

    TypedRows full() {
        return full;
    }

    /** @return why these rows are no valid answer, or empty when they are */
    Optional<String> violation(TypedRows returned) {
        List<List<String>> rows = returned.rows();
        long expected = Math.min(full.rows().size(), limit.orElse(Long.MAX_VALUE));
        if (rows.size() != expected) {
            return Optional.of("returned rows=" + rows.size() + ", expected=" + expected + " of "
                    + full.rows().size() + " without LIMIT");
        }
        RowMatcher matcher = new RowMatcher(returned.types());
        for (int start = 0; start < rows.size(); ) {
            int end = endOfRun(start);
            List<List<String>> run = full.rows().subList(start, end).stream()
                    .map(row -> row.subList(0, columnCount))
                    .toList();
            Unmatched unmatched = matcher.unmatched(rows.subList(start, Math.min(end, rows.size())), run);
            if (!unmatched.onlyLeft().isEmpty()) {
                return Optional.of("row out of place: between positions " + start + " and " + end + ", row="
                        + TypedRows.line(unmatched.onlyLeft().get(0)));
            }
            start = end;
        }
        return Optional.empty();
    }

    private int endOfRun(int start) {
        RowMatcher keys =
                new RowMatcher(full.types().subList(columnCount, full.types().size()));
        int end = start + 1;
        while (end < full.rows().size() && keys.same(keys(end - 1), keys(end))) {
            end++;
        }
        return end;
    }

    private List<String> keys(int row) {
        List<String> cells = full.rows().get(row);
        return cells.subList(columnCount, cells.size());
    }
}
