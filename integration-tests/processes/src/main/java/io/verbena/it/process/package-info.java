/**
 * Spark as users run it, for tests: an installation made of jars, its processes, and applications submitted to it. Nothing here uses
 * a class of Spark, so it serves every line. Threads: confined to the test's.
 */
package io.verbena.it.process;
