package io.verbena.tpcds;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.package$;

/**
 * What a reader must know to judge the figures. Immutable.
 *
 * @param ourName what to call the side that is compared with the sort shuffle
 * @param facts name and value, in the order to show them
 * @param sharedConfs Spark settings of both sides
 * @param ourConfs settings of Verbena's side that the other does not have
 */
record Environment(
        String ourName, Map<String, String> facts, Map<String, String> sharedConfs, Map<String, String> ourConfs) {
    /** Set by {@code bin/quickstart}. */
    private static final String COMMIT_VARIABLE = "VERBENA_COMMIT";

    static Environment detect(Options options) {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put(
                "Date",
                ZonedDateTime.now(ZoneOffset.UTC)
                        .truncatedTo(ChronoUnit.SECONDS)
                        .format(DateTimeFormatter.ISO_INSTANT));
        facts.put("Commit", System.getenv().getOrDefault(COMMIT_VARIABLE, "not known"));
        facts.put("Spark", package$.MODULE$.SPARK_VERSION());
        facts.put("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        facts.put(
                "OS",
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch"));
        facts.put("CPU", cpuModel() + ", " + Runtime.getRuntime().availableProcessors() + " processors available");
        facts.put("Memory", memory());
        facts.put("Scale factor", Double.toString(options.scale()));
        facts.put("Master, each side", options.master());
        facts.put("Timed runs per query and side", Integer.toString(options.repeat()));
        if (options.concurrent()) {
            facts.put("Warning", "both sides ran at the same time: the timings mean nothing");
        }
        facts.put("Shuffle manager of ours", options.ourManager());
        Map<String, String> shared = new LinkedHashMap<>(SparkSettings.defaults());
        shared.putAll(options.sharedConfs());
        String ourName =
                options.ourManager().equals(Options.OUR_MANAGER) ? "Verbena" : options.ourManager() + " (ours)";
        return new Environment(ourName, facts, shared, new LinkedHashMap<>(options.ourConfs()));
    }

    private static String cpuModel() {
        return firstValue(Path.of("/proc/cpuinfo"), "model name");
    }

    private static String memory() {
        return firstValue(Path.of("/proc/meminfo"), "MemTotal");
    }

    /** @return the value of the first {@code key : value} line, or that it is not known (no Linux, no permission) */
    private static String firstValue(Path file, String key) {
        try {
            return Files.readAllLines(file).stream()
                    .filter(line -> line.startsWith(key))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse("not known");
        } catch (IOException e) {
            return "not known";
        }
    }
}
