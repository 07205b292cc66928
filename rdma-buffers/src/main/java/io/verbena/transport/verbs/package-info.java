/**
 * Reading peers' memory by RDMA Read through a network card.
 *
 * <p>Entry type: {@link io.verbena.transport.verbs.Verbs}. The implementation is loaded by a class loader of its own, because it
 * brings DiSNI and native libraries along. Threads: any.
 */
package io.verbena.transport.verbs;
