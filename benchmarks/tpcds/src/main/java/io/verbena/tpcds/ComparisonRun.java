package io.verbena.tpcds;

import io.verbena.bench.driver.DriverProcess.RequestFailedException;
import io.verbena.tpcds.Comparison.Outcome;
import io.verbena.tpcds.QueryDriver.FullReply;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.commons.io.file.PathUtils;

/**
 * Runs a whole comparison: data, one driver per side, each query on both sides in turns, and the comparison of the rows.
 *
 * <p>The sides take turns query by query and alternate who goes first, so that what else the machine does hits both alike. A driver
 * that dies or does not answer is replaced; the query counts as failed. Not thread safe; use once.
 */
public final class ComparisonRun {
    private final Options options;
    private final Listener listener;
    private final Path rowsDir;
    private final Path scratch;
    private final Map<Side, QueryDriver> drivers = new EnumMap<>(Side.class);

    /** Is told how far the run is. All calls come from the thread that runs the comparison. */
    public interface Listener {
        /** @param message what is being done now, for people */
        default void progress(String message) {}

        /** @param comparison a query that is finished */
        default void finished(QueryComparison comparison) {}
    }

    /** @param options what to run; its output folder is created when missing */
    public ComparisonRun(Options options, Listener listener) {
        this.options = options;
        this.listener = listener;
        this.rowsDir = options.out().resolve("rows");
        this.scratch = options.out().resolve("scratch");
    }

    /**
     * Blocks until every query has run, each with a deadline of {@code --timeout}.
     *
     * @return one entry per query and adaptive mode, failures included
     * @throws IOException when nothing can be compared at all: no data, no folder, or a driver that does not start
     */
    public List<QueryComparison> run() throws IOException {
        deleteIfPresent(rowsDir);
        deleteIfPresent(scratch);
        Files.createDirectories(rowsDir);
        Files.createDirectories(scratch);
        try {
            generate();
            for (Side side : Side.values()) {
                driver(side);
            }
            if (!options.concurrent()) {
                warmUp();
            }
            List<QueryComparison> results = new ArrayList<>();
            for (String query : options.queries()) {
                for (boolean adaptive : options.adaptiveModes()) {
                    QueryComparison result = compare(query, adaptive);
                    results.add(result);
                    listener.finished(result);
                }
            }
            return results;
        } finally {
            closeDrivers();
            deleteIfPresent(scratch);
        }
    }

    private void generate() throws IOException {
        listener.progress("data: scale=" + options.scale() + ", folder=" + options.dataDir());
        // Generating may well take longer than any query: a day is only there so that no wait is endless.
        int timeoutMs = (int) TimeUnit.DAYS.toMillis(1);
        try (QueryDriver generator =
                QueryDriver.start("generator", SparkSettings.forGenerator(scratch), logDir(), timeoutMs)) {
            boolean written = generator.generate(
                    options.scale(), options.dataDir(), table -> listener.progress("data: wrote table " + table));
            listener.progress(written ? "data: generated" : "data: already there");
        }
    }

    private Path logDir() {
        return options.out().resolve("logs");
    }

    private QueryDriver driver(Side side) throws IOException {
        QueryDriver running = drivers.get(side);
        if (running != null) {
            return running;
        }
        listener.progress("starting Spark: side=" + side.label() + ", master=" + options.master());
        Path sideScratch = scratch.resolve(side.label());
        QueryDriver started =
                QueryDriver.start(side.label(), SparkSettings.forSide(options, side, sideScratch), logDir(), (int)
                        TimeUnit.SECONDS.toMillis(options.timeoutS()));
        drivers.put(side, started);
        started.open(options.dataDir());
        return started;
    }

    /** The first query once on each side, untimed: class loading and the first executors would be charged to it. */
    private void warmUp() {
        String query = options.queries().get(0);
        listener.progress("warming up: query=" + query);
        for (Side side : Side.values()) {
            // A failure here is met again, and reported, by the timed run of this query.
            attempt(side, new ArrayList<>(), () -> {
                driver(side).startRun(query, options.adaptiveModes().get(0), rowsDir.resolve("warmup.tsv"));
                driver(side).awaitRun();
            });
        }
        deleteQuietly(rowsDir.resolve("warmup.tsv"));
    }

    private QueryComparison compare(String query, boolean adaptive) {
        Map<Side, List<RunMetrics>> runs = new EnumMap<>(Side.class);
        Map<Side, Path> files = new EnumMap<>(Side.class);
        for (Side side : Side.values()) {
            runs.put(side, new ArrayList<>());
            files.put(side, rowsFile(query, adaptive, side.label()));
        }
        Verdict worst = Verdict.EQUAL;
        List<String> details = List.of();
        for (int repetition = 0; repetition < options.repeat() && worst.passed(); repetition++) {
            List<String> failures = runBoth(query, adaptive, repetition, runs, files);
            Outcome outcome =
                    failures.isEmpty() ? compareRows(query, adaptive, files) : new Outcome(Verdict.FAILED, failures);
            if (outcome.verdict().compareTo(worst) > 0) {
                worst = outcome.verdict();
                details = outcome.details();
            }
        }
        if (worst.passed()) {
            files.values().forEach(ComparisonRun::deleteQuietly);
        }
        return new QueryComparison(
                query,
                adaptive,
                List.copyOf(runs.get(Side.SORT)),
                List.copyOf(runs.get(Side.OURS)),
                worst,
                List.copyOf(details));
    }

    private Path rowsFile(String query, boolean adaptive, String what) {
        return rowsDir.resolve(query + ".aqe-" + (adaptive ? "on" : "off") + "." + what + ".tsv");
    }

    private List<String> runBoth(
            String query, boolean adaptive, int repetition, Map<Side, List<RunMetrics>> runs, Map<Side, Path> files) {
        List<String> failures = new ArrayList<>();
        List<Side> order = repetition % 2 == 0 ? List.of(Side.SORT, Side.OURS) : List.of(Side.OURS, Side.SORT);
        List<List<Side>> groups = options.concurrent()
                ? List.of(order)
                : order.stream().map(List::of).toList();
        for (List<Side> group : groups) {
            List<Side> started = new ArrayList<>();
            for (Side side : group) {
                attempt(side, failures, () -> {
                    driver(side).startRun(query, adaptive, files.get(side));
                    started.add(side);
                });
            }
            for (Side side : started) {
                attempt(side, failures, () -> runs.get(side).add(driver(side).awaitRun()));
            }
        }
        return failures;
    }

    private interface IoAction {
        void run() throws IOException;
    }

    /** After a failed query the driver goes on; after anything else it is replaced. */
    private void attempt(Side side, List<String> failures, IoAction action) {
        try {
            action.run();
        } catch (RequestFailedException e) {
            failures.add(side.label() + " failed: " + e.getMessage());
        } catch (IOException e) {
            discard(side);
            failures.add(side.label() + " failed: " + e.getMessage());
        }
    }

    private Outcome compareRows(String query, boolean adaptive, Map<Side, Path> files) {
        try {
            return Comparison.compare(
                    TypedRows.read(files.get(Side.SORT)),
                    TypedRows.read(files.get(Side.OURS)),
                    () -> runFull(Side.SORT, query, adaptive),
                    () -> runFull(Side.OURS, query, adaptive));
        } catch (IOException e) {
            return new Outcome(Verdict.FAILED, List.of("cannot compare the rows: " + e.getMessage()));
        }
    }

    private TieRules runFull(Side side, String query, boolean adaptive) throws IOException {
        try {
            Path file = rowsFile(query, adaptive, side.label() + ".full");
            FullReply full = driver(side).runFull(query, adaptive, file);
            return new TieRules(full.rows(), full.keyCount(), full.limit());
        } catch (RequestFailedException e) {
            throw e;
        } catch (IOException e) {
            discard(side);
            throw e;
        }
    }

    private void discard(Side side) {
        QueryDriver dead = drivers.remove(side);
        if (dead != null) {
            dead.kill();
        }
    }

    private void closeDrivers() throws IOException {
        // All are told before the first is waited for, so that they end at the same time.
        for (QueryDriver driver : drivers.values()) {
            driver.disconnect();
        }
        for (QueryDriver driver : drivers.values()) {
            driver.close();
        }
        drivers.clear();
    }

    private static void deleteIfPresent(Path dir) throws IOException {
        if (Files.exists(dir)) {
            PathUtils.deleteDirectory(dir);
        }
    }

    private static void deleteQuietly(Path file) {
        org.apache.commons.io.FileUtils.deleteQuietly(file.toFile());
    }
}
