package io.verbena.bench.jobs;

import java.util.List;

/**
 * Several measurements of the same thing in short.
 *
 * @param middle the median; the mean of the two in the middle for an even count
 * @param min the least
 * @param max the greatest
 */
record Median(double middle, double min, double max) {
    /**
     * Sums up.
     *
     * @throws IllegalArgumentException if there is nothing
     */
    static Median of(List<Double> values) {
        if (values.isEmpty()) {
            throw new IllegalArgumentException("no median of nothing");
        }
        List<Double> sorted = values.stream().sorted().toList();
        int half = sorted.size() / 2;
        double middle = sorted.size() % 2 == 1 ? sorted.get(half) : (sorted.get(half - 1) + sorted.get(half)) / 2;
        return new Median(middle, sorted.get(0), sorted.get(sorted.size() - 1));
    }
}
