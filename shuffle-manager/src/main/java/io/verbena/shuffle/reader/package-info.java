/**
 * The reduce side: which map outputs are where, the way to each (own memory, a neighbour's mapped memory, a direct read of a
 * peer's memory, Spark's block transfer), verification, and decoding.
 *
 * <p>Entry type: {@link io.verbena.shuffle.reader.RegisteredReader}. Threads: a reader and its iterators are confined to the
 * reduce task's thread; {@link io.verbena.shuffle.reader.PeerRegistry} is shared by all tasks of the executor.
 */
package io.verbena.shuffle.reader;
