/**
 * Makes segments known to a device, in batches and off the data path.
 *
 * <p>Entry type: {@link io.verbena.registration.Registrar}. Threads: any.
 */
package io.verbena.registration;
