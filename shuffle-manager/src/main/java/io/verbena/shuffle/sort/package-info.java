/**
 * Order on the reduce side: records are collected on the heap, put in order by a key prefix, and spilled to disk as sorted runs
 * when Spark grants no more memory.
 *
 * <p>Entry type: {@link io.verbena.shuffle.sort.KeySorter}. Threads: confined to the reduce task, except that Spark may ask for
 * memory, and the sorted records may be read, on another thread of the same task.
 */
package io.verbena.shuffle.sort;
