/**
 * The native calls, bound to one class loader: {@link io.verbena.verbs.VerbsLibrary} defines this package anew for each library
 * it opens. Code outside that loader must not touch it: there it has no library.
 *
 * <p>Entry type: {@link io.verbena.verbs.bound.VerbsNative}. Threads: any, as libibverbs and librdmacm allow.
 */
package io.verbena.verbs.bound;
