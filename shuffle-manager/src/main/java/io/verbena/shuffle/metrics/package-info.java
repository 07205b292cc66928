/**
 * What is counted, in one enum, and how the counts reach people: per executor for Spark's metrics system, and per application on
 * the driver. Threads: any thread adds.
 */
package io.verbena.shuffle.metrics;
