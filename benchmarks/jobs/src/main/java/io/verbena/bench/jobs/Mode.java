package io.verbena.bench.jobs;

import java.util.Map;

/** A way to shuffle, with what sets it apart from Spark's default settings. */
// Nothing changes its map.
@SuppressWarnings("ImmutableEnumChecker")
public enum Mode {
    /** Spark's sort shuffle: blocks compressed by LZ4, and those of the same host read from its disk. */
    SPARK("spark", Map.of()),
    /** Blocks of other executors come over Netty, as those of other hosts do. */
    SPARK_NETTY("sparkNetty", Map.of("spark.shuffle.readHostLocalDisk", "false")),
    /** Without compression. */
    SPARK_RAW("sparkRaw", Map.of("spark.shuffle.compress", "false", "spark.shuffle.spill.compress", "false")),
    /** Over Netty and without compression. */
    SPARK_NETTY_RAW(
            "sparkNettyRaw",
            Map.of(
                    "spark.shuffle.readHostLocalDisk",
                    "false",
                    "spark.shuffle.compress",
                    "false",
                    "spark.shuffle.spill.compress",
                    "false")),
    /** Verbena with its default settings. */
    VERBENA("verbena", Map.of("spark.shuffle.manager", "org.apache.spark.shuffle.rdma.RdmaShuffleManager")),
    /** Verbena with blocks compressed as Spark would. */
    VERBENA_LZ4(
            "verbenaLz4",
            Map.of(
                    "spark.shuffle.manager",
                    "org.apache.spark.shuffle.rdma.RdmaShuffleManager",
                    "spark.shuffle.rdma.compression",
                    "spark")),
    /** Nothing is written or read: what is left is not shuffle. */
    NULL("null", Map.of("spark.shuffle.manager", NullShuffleManager.class.getName()));

    private final String label;
    private final Map<String, String> settings;

    Mode(String label, Map<String, String> settings) {
        this.label = label;
        this.settings = settings;
    }

    /** Its name on the command line and in results. */
    String label() {
        return label;
    }

    /** Its Spark settings. */
    Map<String, String> settings() {
        return settings;
    }

    boolean isVerbena() {
        return this == VERBENA || this == VERBENA_LZ4;
    }

    @Override
    public String toString() {
        return label;
    }
}
