/**
 * Reads of a neighbour's segments through its files: reads are views, leases are kernel locks.
 *
 * <p>Entry type: {@link io.verbena.transport.mapped.MappedTransport}. Threads: any.
 */
package io.verbena.transport.mapped;
