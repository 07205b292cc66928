/**
 * The thin bridge to Spark: the classes it loads by name, and those that touch its private types. Entry type:
 * {@link org.apache.spark.shuffle.rdma.RdmaShuffleManager}.
 */
package org.apache.spark.shuffle.rdma;
