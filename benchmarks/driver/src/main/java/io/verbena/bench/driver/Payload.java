package io.verbena.bench.driver;

import java.io.DataOutputStream;
import java.io.IOException;

/** What follows a request or an answer on the wire; the other end reads the same values in the same order. */
@FunctionalInterface
public interface Payload {
    /** Nothing. */
    Payload NONE = to -> {};

    /** Writes the values. */
    void writeTo(DataOutputStream to) throws IOException;
}
