/**
 * Threads of this library: daemons with names that begin with {@code verbena-}.
 *
 * <p>Entry type: {@link io.verbena.threads.DaemonThreads}. Threads: stateless.
 */
package io.verbena.threads;
