/**
 * What executors tell each other about map outputs, and how the bytes lie: reserved block ids, the directory of a shuffle, the
 * run image in registered memory and the frame in which blocks cross Spark's block transfer.
 *
 * <p>Every format carries a magic number, a version and a CRC32C; decoding never trusts a length it has not checked. Threads:
 * the records are immutable, the codecs stateless.
 */
package io.verbena.shuffle.metadata;
