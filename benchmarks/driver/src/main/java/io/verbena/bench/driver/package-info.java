/**
 * Spark applications as child processes, for benchmarks that run several at a time: {@link io.verbena.bench.driver.DriverProcess} is
 * the benchmark's end, {@link io.verbena.bench.driver.DriverServer} the application's.
 */
package io.verbena.bench.driver;
