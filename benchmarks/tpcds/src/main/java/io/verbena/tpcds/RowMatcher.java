package io.verbena.tpcds;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Decides whether two rows are the same: every cell exactly, except float and double cells, for which a relative difference of
 * {@link #TOLERANCE} is allowed, because their sums depend on the order in which tasks deliver them.
 */
final class RowMatcher {
    static final double TOLERANCE = 1e-9;

    private static final Set<String> INEXACT = Set.of("float", "double");

    private final boolean[] inexact;

    /** @param types Spark's names of the column types */
    RowMatcher(List<String> types) {
        inexact = new boolean[types.size()];
        for (int i = 0; i < inexact.length; i++) {
            inexact[i] = INEXACT.contains(types.get(i));
        }
    }

    boolean same(List<String> left, List<String> right) {
        for (int i = 0; i < inexact.length; i++) {
            if (!sameCell(i, left.get(i), right.get(i))) {
                return false;
            }
        }
        return true;
    }

    private boolean sameCell(int column, String left, String right) {
        if (left == null || right == null || !inexact[column]) {
            return java.util.Objects.equals(left, right);
        }
        return left.equals(right) || near(Double.parseDouble(left), Double.parseDouble(right));
    }

    private static boolean near(double a, double b) {
        if (Double.isNaN(a) || Double.isNaN(b) || Double.isInfinite(a) || Double.isInfinite(b)) {
            return Double.compare(a, b) == 0;
        }
        return Math.abs(a - b) <= TOLERANCE * Math.max(Math.abs(a), Math.abs(b));
    }

    /** @return whether both lists have the same rows at the same positions */
    boolean sameSequence(List<List<String>> left, List<List<String>> right) {
        if (left.size() != right.size()) {
            return false;
        }
        for (int i = 0; i < left.size(); i++) {
            if (!same(left.get(i), right.get(i))) {
                return false;
            }
        }
        return true;
    }

    /**
     * Pairs equal rows off, each at most once, whatever their order.
     *
     * <p>Among rows that differ in inexact cells only, a row takes the first partner that is near enough. Where values lie so close
     * that this choice matters, a pair may be missed: an equal result may then be called different, never the reverse.
     */
    Unmatched unmatched(List<List<String>> left, List<List<String>> right) {
        Map<List<String>, List<List<String>>> waiting = new HashMap<>();
        for (List<String> row : right) {
            waiting.computeIfAbsent(exactCells(row), key -> new ArrayList<>()).add(row);
        }
        List<List<String>> onlyLeft = new ArrayList<>();
        for (List<String> row : left) {
            if (!removeFirstMatch(waiting.getOrDefault(exactCells(row), List.of()), row)) {
                onlyLeft.add(row);
            }
        }
        List<List<String>> onlyRight = new ArrayList<>();
        waiting.values().forEach(onlyRight::addAll);
        return new Unmatched(onlyLeft, onlyRight);
    }

    private boolean removeFirstMatch(List<List<String>> candidates, List<String> row) {
        // From the end: among identical rows the last one is found at once and removed without moving the others.
        for (int i = candidates.size() - 1; i >= 0; i--) {
            if (same(row, candidates.get(i))) {
                candidates.remove(i);
                return true;
            }
        }
        return false;
    }

    private List<String> exactCells(List<String> row) {
        String[] cells = row.toArray(new String[0]);
        for (int i = 0; i < cells.length; i++) {
            if (inexact[i] && cells[i] != null) {
                cells[i] = "";
            }
        }
        return Arrays.asList(cells);
    }

    /**
     * @param onlyLeft rows of the first list without a partner
     * @param onlyRight rows of the second list without a partner
     */
    record Unmatched(List<List<String>> onlyLeft, List<List<String>> onlyRight) {
        boolean isEmpty() {
            return onlyLeft.isEmpty() && onlyRight.isEmpty();
        }
    }
}
