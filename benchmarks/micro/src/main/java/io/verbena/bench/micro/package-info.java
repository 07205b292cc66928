/**
 * JMH benchmarks of single parts: writing, reading, index look-ups, checksums, memory and transports, each beside what it must be
 * compared with. Entry: {@link io.verbena.bench.micro.MicroCommand}.
 */
package io.verbena.bench.micro;
