package io.verbena.bench.verbs;

import java.io.IOException;
import java.time.Duration;

/** Registers memory that it owns, and whose pages exist. Confined to one thread. */
public interface Registrar {
    /** Returns the size of the memory. */
    long totalBytes();

    /**
     * Registers all of the memory as MRs of one size and deregisters them.
     *
     * @param regionBytes a divisor of {@link #totalBytes}
     * @return the time that the registrations took, without the deregistrations
     */
    Duration register(long regionBytes) throws IOException;
}
