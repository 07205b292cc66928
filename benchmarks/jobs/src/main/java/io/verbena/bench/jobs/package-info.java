/**
 * What shuffles cost whole Spark jobs: Spark's own shuffle, Verbena's and one that moves nothing, by turns on one host.
 * {@link io.verbena.bench.jobs.JobsCommand} is the command, {@link io.verbena.bench.jobs.Workload} says what is run and
 * {@link io.verbena.bench.jobs.Mode} how.
 */
package io.verbena.bench.jobs;
