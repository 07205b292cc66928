package io.verbena.it;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a test shows, in the words of the compatibility table; the outcome goes to {@code target/compatibility.tsv}. */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(CompatibilityRecord.class)
@interface Shows {
    String value();
}
