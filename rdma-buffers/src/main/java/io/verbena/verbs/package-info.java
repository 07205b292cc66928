/**
 * The native verbs library: where it comes from, and why it cannot be had.
 *
 * <p>Entry type: {@link io.verbena.verbs.VerbsLibrary}. Threads: any.
 */
package io.verbena.verbs;
