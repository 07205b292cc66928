/**
 * A transport inside one process, for tests; it enforces keys and bounds as a device does.
 *
 * <p>Entry type: {@link io.verbena.transport.loopback.LoopbackTransport}. Threads: any.
 */
package io.verbena.transport.loopback;
