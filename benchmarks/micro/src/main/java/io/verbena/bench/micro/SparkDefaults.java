package io.verbena.bench.micro;

import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Warmup;

/** As {@link Defaults}, longer: an invocation is a whole task, and there is far more to compile. */
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public abstract class SparkDefaults extends Defaults {}
