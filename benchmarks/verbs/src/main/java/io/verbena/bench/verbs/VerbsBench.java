package io.verbena.bench.verbs;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/** The benchmarks, for a machine with the two hosts of {@code GuestHost}. */
final class VerbsBench {
    private static final int[] BLOCK_BYTES = {4 << 10, 64 << 10, 1 << 20};
    private static final long SEGMENT_BYTES = 64L << 20;
    private static final long BLOCK_REGION_BYTES = 64L << 10;

    private final int pairs;
    private final Duration length;
    private final PrintWriter progress;
    private final Consumer<Result> results;

    /**
     * @param pairs how many measurements of each kind
     * @param length of one measurement of reads
     */
    VerbsBench(int pairs, Duration length, PrintWriter progress, Consumer<Result> results) {
        this.pairs = pairs;
        this.length = length;
        this.progress = progress;
        this.results = results;
    }

    /** Compares two readers at 4 KiB, 64 KiB and 1 MiB: throughput of the first divided by that of the second. */
    void compareReads(String metric, Reader first, Reader second) throws IOException, InterruptedException {
        for (int blockBytes : BLOCK_BYTES) {
            try (ReadLoop a = first.open(blockBytes);
                    ReadLoop b = second.open(blockBytes)) {
                // Compilers, caches and the count of perftest's iterations settle.
                a.readFor(length);
                b.readFor(length);
                List<Double> ratios = Pairs.ratios(
                        pairs,
                        () -> shown(metric + " first " + blockBytes, a.readFor(length) / (1 << 20), "MiB/s"),
                        () -> shown(metric + " second " + blockBytes, b.readFor(length) / (1 << 20), "MiB/s"));
                results.accept(new Result(metric, blockBytes, Spread.of(ratios)));
            }
        }
    }

    /** Compares MRs of 64 KiB, a block each, with MRs of 64 MiB: time of the first divided by that of the second. */
    void compareRegistrations(String metric, Registrar registrar) throws IOException, InterruptedException {
        // Memory is made, compilers and caches settle.
        registrar.register(BLOCK_REGION_BYTES);
        registrar.register(SEGMENT_BYTES);
        List<Double> ratios = Pairs.ratios(
                pairs,
                () -> shown(
                        metric + " blocks",
                        registrar.register(BLOCK_REGION_BYTES).toNanos() / 1e6,
                        "ms"),
                () -> shown(
                        metric + " segments", registrar.register(SEGMENT_BYTES).toNanos() / 1e6, "ms"));
        results.accept(new Result(metric, registrar.totalBytes(), Spread.of(ratios)));
    }

    private double shown(String name, double value, String unit) {
        progress.printf(Locale.ROOT, "%s: %.2f %s%n", name, value, unit);
        progress.flush();
        return value;
    }
}
