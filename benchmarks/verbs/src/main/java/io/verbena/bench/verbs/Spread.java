package io.verbena.bench.verbs;

import java.util.List;

/**
 * The ratios of several pairs of measurements in short: ratios multiply, so their middle is the geometric mean.
 *
 * @param mean the geometric mean
 * @param min the least ratio
 * @param max the greatest ratio
 */
public record Spread(double mean, double min, double max) {
    /**
     * Sums up.
     *
     * @throws IllegalArgumentException if there is no ratio, or one is not a positive number
     */
    static Spread of(List<Double> ratios) {
        if (ratios.isEmpty() || ratios.stream().anyMatch(ratio -> !(ratio > 0) || ratio.isInfinite())) {
            throw new IllegalArgumentException("ratios must be positive numbers: ratios=" + ratios);
        }
        double sum = 0;
        double min = Double.POSITIVE_INFINITY;
        double max = 0;
        for (double ratio : ratios) {
            sum += Math.log(ratio);
            min = Math.min(min, ratio);
            max = Math.max(max, ratio);
        }
        return new Spread(Math.exp(sum / ratios.size()), min, max);
    }
}
