/**
 * Leases of registered memory under a strict budget.
 *
 * <p>Entry type: {@link io.verbena.arena.Arena}. Threads: any; one lock, never held across a backing or registrar call.
 */
package io.verbena.arena;
