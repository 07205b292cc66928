/**
 * The one place where Spark's lines differ: members whose signature changed between 3.5 and 4.2 are looked up once, by method
 * handle. The jar is compiled against 3.5 on Scala 2.12. Threads: stateless.
 */
package io.verbena.shuffle.seam;
