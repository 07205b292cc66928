/**
 * The serving side: which map outputs this executor holds, in memory or on disk, how long they live, and how they are handed to
 * readers that come over Spark's block transfer.
 *
 * <p>Entry type: {@link io.verbena.shuffle.resolver.MapOutputStore}. Threads: any.
 */
package io.verbena.shuffle.resolver;
