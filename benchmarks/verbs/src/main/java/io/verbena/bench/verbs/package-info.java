/**
 * What the verbs transport costs, against perftest and against itself, on one RDMA device. {@link io.verbena.bench.verbs.BenchCommand}
 * runs outside the guest, {@link io.verbena.bench.verbs.VerbsBench} inside.
 */
package io.verbena.bench.verbs;
