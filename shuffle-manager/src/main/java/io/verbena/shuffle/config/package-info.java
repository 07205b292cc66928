/**
 * Every configuration key of the shuffle manager, with its type, default, range and doc; the only reader of {@code SparkConf}
 * for {@code spark.shuffle.rdma.*}.
 *
 * <p>Entry type: {@link io.verbena.shuffle.config.RdmaConf}. Threads: all types are immutable.
 */
package io.verbena.shuffle.config;
