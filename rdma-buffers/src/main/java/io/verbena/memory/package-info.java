/**
 * Page-aligned off-heap memory: where segments come from and how bytes in them are read and written.
 *
 * <p>Entry types: {@link io.verbena.memory.Backings} for segments, {@link io.verbena.memory.OffHeap} for access. Threads: any.
 */
package io.verbena.memory;
