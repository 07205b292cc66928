/**
 * Several transports as one: an endpoint that publishes one descriptor, and peers that take the first way that leads to it.
 *
 * <p>Entry type: {@link io.verbena.transport.ways.WaysTransport}. Threads: any.
 */
package io.verbena.transport.ways;
