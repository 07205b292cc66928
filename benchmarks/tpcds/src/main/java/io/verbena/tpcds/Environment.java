package io.verbena.tpcds;

import io.verbena.bench.driver.Machine;
import java.util.LinkedHashMap;
import java.util.Map;

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
    static Environment detect(Options options) {
        Map<String, String> facts = Machine.facts();
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
}
