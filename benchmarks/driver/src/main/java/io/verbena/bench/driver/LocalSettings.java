package io.verbena.bench.driver;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The Spark settings that every application of a benchmark on one host starts from. */
public final class LocalSettings {
    private LocalSettings() {}

    /**
     * Returns a new map.
     *
     * @param scratch gets shuffle files and the like; to be deleted by the caller
     */
    public static Map<String, String> of(String master, Path scratch) {
        Map<String, String> confs = new TreeMap<>();
        confs.put("spark.master", master);
        if (master.startsWith("local")) {
            confs.put("spark.driver.host", "127.0.0.1");
            confs.put("spark.driver.bindAddress", "127.0.0.1");
        }
        confs.put("spark.ui.enabled", "false");
        confs.put("spark.log.level", "WARN");
        confs.put("spark.executor.syncLogLevel.enabled", "true");
        confs.put("spark.local.dir", scratch.resolve("local").toAbsolutePath().toString());
        confs.put(
                "spark.sql.warehouse.dir",
                scratch.resolve("warehouse").toAbsolutePath().toString());
        return confs;
    }
}
