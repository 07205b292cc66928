package io.verbena.bench.micro;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** What one operation of a benchmark class handles: a row, a block, a lease. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@interface Per {
    String value();
}
