/**
 * The map side: records are staged, scattered into runs in registered memory, and committed as one map output; what finds no
 * room becomes a stock shuffle file.
 *
 * <p>Entry types: {@link io.verbena.shuffle.writer.ScatterWriter} for relocatable serializers and rows,
 * {@link io.verbena.shuffle.writer.SparkStageWriter} as the output stage of Spark's own writers. Threads: a writer is confined to
 * its task's thread.
 */
package io.verbena.shuffle.writer;
