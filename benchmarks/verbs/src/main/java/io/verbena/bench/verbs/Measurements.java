package io.verbena.bench.verbs;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** How much to measure. */
final class Measurements {
    @Option(
            names = "--pairs",
            defaultValue = "6",
            description = "measurements of each kind (default: ${DEFAULT-VALUE})")
    private int pairs;

    @Option(
            names = "--seconds",
            defaultValue = "4",
            description = "length of one measurement of reads (default: ${DEFAULT-VALUE})")
    private int seconds;

    @Option(
            names = "--control",
            description = "also compare perftest with itself: how far apart equal programs are found")
    private boolean control;

    boolean control() {
        return control;
    }

    int pairs() {
        return pairs;
    }

    int seconds() {
        return seconds;
    }

    /** Returns the options again, as arguments for another process. */
    List<String> arguments() {
        List<String> arguments = new ArrayList<>(List.of("--pairs=" + pairs, "--seconds=" + seconds));
        if (control) {
            arguments.add("--control");
        }
        return arguments;
    }

    /** Returns a generous bound of the whole run: emulated processes start slowly. */
    Duration limit() {
        return Duration.ofMinutes(10).plusSeconds(3L * 2 * pairs * (3L * seconds + 10));
    }
}
