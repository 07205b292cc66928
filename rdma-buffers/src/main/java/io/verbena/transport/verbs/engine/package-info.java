/**
 * The verbs transport: devices, connections, queues.
 *
 * <p>Defined by the class loader that also defines DiSNI, so nothing outside may name these classes; see
 * {@link io.verbena.transport.verbs.Verbs}.
 *
 * <p>Threads: the CM thread makes and destroys connections; one progress thread per device completes work; any thread posts.
 */
package io.verbena.transport.verbs.engine;
