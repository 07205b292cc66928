package io.verbena.bench.micro;

import java.util.Map;

/** The shuffles that are compared. */
enum Manager {
    /** Verbena, default settings, but reads are this machine's, whatever devices it has. */
    VERBENA,
    /** Spark's sort shuffle as it is by default, with LZ4. */
    SPARK,
    /** Spark's sort shuffle without compression. */
    SPARK_RAW;

    /** Default of spark.shuffle.sort.bypassMergeThreshold. */
    private static final int BYPASS_PARTITIONS = 200;

    Map<String, String> settings() {
        return switch (this) {
            case VERBENA ->
                Map.of(
                        "spark.shuffle.manager",
                        "org.apache.spark.shuffle.rdma.RdmaShuffleManager",
                        "spark.shuffle.rdma.verbs.enabled",
                        "false");
            case SPARK -> Map.of("spark.shuffle.manager", "sort");
            case SPARK_RAW -> Map.of("spark.shuffle.manager", "sort", "spark.shuffle.compress", "false");
        };
    }

    /** The writer that it takes for a serializer that can relocate objects, without map-side combine. */
    String writer(int partitions) {
        if (this == VERBENA) {
            return "ScatterWriter";
        }
        return partitions <= BYPASS_PARTITIONS ? "BypassMergeSortShuffleWriter" : "UnsafeShuffleWriter";
    }
}
