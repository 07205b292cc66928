package org.apache.spark.shuffle.rdma;

import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.util.collection.OpenHashSet;

/**
 * Spark's resolver of shuffle files, constructed as Spark 4.1 and later want it: the map of migrated map ids has another type
 * there. A constructor call is the one difference that a method handle cannot bridge.
 */
abstract class BlockResolverBase41 extends IndexShuffleBlockResolver {
    /**
     * Constructs the superclass.
     *
     * @param migrated filled by the superclass with map ids of files that decommissioned executors send
     */
    BlockResolverBase41(SparkConf conf, ConcurrentHashMap<Object, OpenHashSet<Object>> migrated) {
        super(conf, null, migrated);
    }
}
