package io.verbena.shuffle.fallback;

import io.verbena.shuffle.config.RdmaConf;
import java.util.Optional;
import org.apache.spark.SparkConf;

/** A reason to use Spark's own shuffle for a whole shuffle. The first that applies is reported. */
public enum FallbackReason {
    /** Switched off by the user. */
    DISABLED("spark.shuffle.rdma.enabled=false") {
        @Override
        boolean applies(SparkConf conf, RdmaConf rdma) {
            return !rdma.enabled();
        }
    },
    /** Blocks are then looked for in files at the external service, which cannot see an executor's memory. */
    EXTERNAL_SHUFFLE_SERVICE(
            "spark.shuffle.service.enabled=true: the service reads files, not executors' memory; set it to false"
                    + " (with dynamic allocation use spark.dynamicAllocation.shuffleTracking.enabled)") {
        @Override
        boolean applies(SparkConf conf, RdmaConf rdma) {
            return conf.getBoolean("spark.shuffle.service.enabled", false);
        }
    },
    /** Map ids are then positions, which a retry uses again for other content. */
    OLD_FETCH_PROTOCOL("spark.shuffle.useOldFetchProtocol=true: map ids are not unique; remove it") {
        @Override
        boolean applies(SparkConf conf, RdmaConf rdma) {
            return conf.getBoolean("spark.shuffle.useOldFetchProtocol", false);
        }
    },
    /** Blocks are then pushed to and merged by the external service. */
    PUSH_BASED_SHUFFLE("spark.shuffle.push.enabled=true: blocks are merged by the external service; set it to false") {
        @Override
        boolean applies(SparkConf conf, RdmaConf rdma) {
            return conf.getBoolean("spark.shuffle.push.enabled", false);
        }
    },
    /** Blocks of lost executors are then read from files in the fallback storage, past any shuffle manager. */
    FALLBACK_STORAGE(
            "spark.storage.decommission.fallbackStorage.path is set: its files are only read by Spark's own shuffle; remove it") {
        @Override
        boolean applies(SparkConf conf, RdmaConf rdma) {
            return conf.contains("spark.storage.decommission.fallbackStorage.path");
        }
    },
    /** Another plugin owns where Spark's writers put their output. */
    CUSTOM_DATA_IO("spark.shuffle.sort.io.plugin.class is set: another plugin stores shuffle data; remove it") {
        @Override
        boolean applies(SparkConf conf, RdmaConf rdma) {
            return hasCustomDataIo(conf);
        }
    };

    private static final String DATA_IO = "spark.shuffle.sort.io.plugin.class";
    private static final String SPARK_DATA_IO = "org.apache.spark.shuffle.sort.io.LocalDiskShuffleDataIO";

    private final String explanation;

    FallbackReason(String explanation) {
        this.explanation = explanation;
    }

    abstract boolean applies(SparkConf conf, RdmaConf rdma);

    /** What the user set, and how to have the shuffle in memory instead. */
    public String explanation() {
        return explanation;
    }

    /** True when the user has a shuffle storage plugin of their own. */
    public static boolean hasCustomDataIo(SparkConf conf) {
        return !conf.get(DATA_IO, SPARK_DATA_IO).equals(SPARK_DATA_IO);
    }

    /** Returns why a shuffle is left to Spark, empty when it is ours. */
    public static Optional<FallbackReason> of(SparkConf conf, RdmaConf rdma) {
        for (FallbackReason reason : values()) {
            if (reason.applies(conf, rdma)) {
                return Optional.of(reason);
            }
        }
        return Optional.empty();
    }
}
