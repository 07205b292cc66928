/**
 * Reading a peer's registered memory: what a transport is, independent of how it moves bytes.
 *
 * <p>Entry type: {@link io.verbena.transport.Transport}. Threads: any; callbacks come on a transport's progress thread.
 */
package io.verbena.transport;
