package io.verbena.shuffle.config;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Finds keys below our prefix that nobody declared, and what their authors probably meant. */
final class UnknownKeys {
    private UnknownKeys() {}

    /** Returns one line per undeclared key, in key order; the list is the caller's to extend. */
    static List<String> describe(Map<String, String> texts, List<ConfigKey<?>> declared) {
        Set<String> known = new HashSet<>();
        declared.forEach(key -> known.add(key.name()));
        List<String> problems = new ArrayList<>();
        for (String name : new TreeSet<>(texts.keySet())) {
            if (!known.contains(name)) {
                problems.add(name + "=" + texts.get(name) + " is not a known key, closest: " + closest(name, declared));
            }
        }
        return problems;
    }

    private static String closest(String name, List<ConfigKey<?>> declared) {
        String best = "";
        int bestDistance = Integer.MAX_VALUE;
        for (ConfigKey<?> key : declared) {
            int distance = distance(name, key.name());
            if (distance < bestDistance) {
                bestDistance = distance;
                best = key.name();
            }
        }
        return best;
    }

    /** Levenshtein distance, ignoring case; keys are short, so one row of the table is enough. */
    private static int distance(String left, String right) {
        int[] row = new int[right.length() + 1];
        for (int j = 0; j <= right.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= left.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= right.length(); j++) {
                boolean same = Character.toLowerCase(left.charAt(i - 1)) == Character.toLowerCase(right.charAt(j - 1));
                int replaced = diagonal + (same ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
            }
        }
        return row[right.length()];
    }
}
