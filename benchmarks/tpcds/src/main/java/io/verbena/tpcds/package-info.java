/**
 * Compares TPC-DS queries under Spark's sort shuffle and under Verbena's: same data, same settings, query by query.
 *
 * <p>Entry types: {@link io.verbena.tpcds.Quickstart} for people, {@link io.verbena.tpcds.ComparisonRun} for tests. One JVM holds
 * one Spark session with one shuffle manager, so each side is a child process ({@link io.verbena.tpcds.DriverProcess}, its main
 * class {@link io.verbena.tpcds.DriverMain}) that is told over a loopback socket which query to run next.
 *
 * <p>Threads: the parent is single threaded; so is a child, apart from Spark's own threads.
 */
package io.verbena.tpcds;
