package io.verbena.suites.agent;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import java.util.Set;
import org.apache.spark.SparkConf;

/** What every SparkConf of this JVM has. Written once before any class of Spark is loaded, then read only. */
public final class SuiteSettings {
    /** Spark settings as Java properties. */
    public static final String FILE = "settings.properties";

    private static final String MANAGER = "spark.shuffle.manager";
    private static final Set<String> SPARKS_OWN =
            Set.of("sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager");
    private static final Properties SETTINGS = new Properties();

    private SuiteSettings() {}

    static void load(Path directory) throws IOException {
        try (Reader reader = Files.newBufferedReader(directory.resolve(FILE))) {
            SETTINGS.load(reader);
        }
    }

    /** Adds what the SparkConf does not have already. */
    public static void addTo(Object conf) {
        SETTINGS.forEach((key, value) -> ((SparkConf) conf).setIfMissing((String) key, (String) value));
    }

    /** Returns the value to set: our manager in place of Spark's, else the value itself. */
    public static String replacement(String key, String value) {
        return MANAGER.equals(key) && SPARKS_OWN.contains(value) ? SETTINGS.getProperty(MANAGER, value) : value;
    }
}
