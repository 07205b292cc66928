package io.verbena.tpcds;

import io.verbena.bench.driver.LocalSettings;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** The Spark settings of a comparison: modest defaults for one host, then what the user gave for both sides, then for ours. */
final class SparkSettings {
    /** Spark's setting that chooses the side. */
    static final String MANAGER = "spark.shuffle.manager";

    private SparkSettings() {}

    /** @param scratch gets shuffle files and the like; to be deleted by the caller */
    static Map<String, String> forSide(Options options, Side side, Path scratch) {
        Map<String, String> confs = machine(options.master(), scratch);
        confs.put("spark.app.name", "verbena-tpcds-" + side.label());
        confs.putAll(options.sharedConfs());
        if (side == Side.OURS) {
            confs.putAll(options.ourConfs());
        }
        confs.put(MANAGER, side == Side.OURS ? options.ourManager() : "sort");
        return confs;
    }

    /** @return the settings of the process that generates data */
    static Map<String, String> forGenerator(Path scratch) {
        Map<String, String> confs = machine("local[*]", scratch);
        confs.put("spark.app.name", "verbena-tpcds-generator");
        // Sorting makes repartition repeatable when a task is retried; here a failure ends the job.
        confs.put("spark.sql.execution.sortBeforeRepartition", "false");
        return confs;
    }

    /**
     * What both sides get unless the user says otherwise. Broadcast joins are off, so that joins shuffle even at a small scale: this
     * compares shuffles, it is not a TPC-DS score. ANSI mode is off, because at small scales some queries divide by a sum that is 0.
     */
    static Map<String, String> defaults() {
        Map<String, String> confs = new TreeMap<>();
        confs.put("spark.sql.shuffle.partitions", "16");
        confs.put("spark.sql.ansi.enabled", "false");
        confs.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        confs.put("spark.sql.adaptive.autoBroadcastJoinThreshold", "-1");
        return confs;
    }

    private static Map<String, String> machine(String master, Path scratch) {
        Map<String, String> confs = LocalSettings.of(master, scratch);
        confs.putAll(defaults());
        return confs;
    }
}
