package io.verbena.bench.verbs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Measures two things by turns, so that what else the machine does falls on both. */
final class Pairs {
    private Pairs() {}

    /** One measurement; positive. */
    interface Measurement {
        double take() throws IOException, InterruptedException;
    }

    /**
     * Takes both measurements several times; the one that comes first changes from pair to pair.
     *
     * @return first divided by second, a ratio per pair
     */
    static List<Double> ratios(int pairs, Measurement first, Measurement second)
            throws IOException, InterruptedException {
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            double a;
            double b;
            if (pair % 2 == 0) {
                a = first.take();
                b = second.take();
            } else {
                b = second.take();
                a = first.take();
            }
            ratios.add(a / b);
        }
        return ratios;
    }
}
