package io.verbena.bench.driver;

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

/** What a reader must know of a machine and its software to judge figures. */
public final class Machine {
    private static final String NOT_KNOWN = "not known";

    /** Set by the commands in {@code bin/}. */
    private static final String COMMIT_VARIABLE = "VERBENA_COMMIT";

    private Machine() {}

    /** Returns names and values, in the order to show them. */
    public static Map<String, String> facts() {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put(
                "Date",
                ZonedDateTime.now(ZoneOffset.UTC)
                        .truncatedTo(ChronoUnit.SECONDS)
                        .format(DateTimeFormatter.ISO_INSTANT));
        facts.put("Commit", System.getenv().getOrDefault(COMMIT_VARIABLE, NOT_KNOWN));
        facts.put("Spark", package$.MODULE$.SPARK_VERSION());
        facts.put("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        facts.put(
                "OS",
                System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                        + System.getProperty("os.arch"));
        facts.put(
                "CPU",
                firstValue(Path.of("/proc/cpuinfo"), "model name") + ", "
                        + Runtime.getRuntime().availableProcessors() + " processors available");
        facts.put("Memory", firstValue(Path.of("/proc/meminfo"), "MemTotal"));
        return facts;
    }

    /** @return the value of the first {@code key : value} line, or that it is not known (no Linux, no permission) */
    private static String firstValue(Path file, String key) {
        try {
            return Files.readAllLines(file).stream()
                    .filter(line -> line.startsWith(key))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(NOT_KNOWN);
        } catch (IOException e) {
            return NOT_KNOWN;
        }
    }
}
