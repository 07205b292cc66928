/**
 * When a whole shuffle is left to Spark's own SortShuffleManager, and why: decided once per shuffle on the driver, logged and
 * counted. Threads: stateless.
 */
package io.verbena.shuffle.fallback;
