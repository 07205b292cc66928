package io.verbena.bench.verbs;

import java.io.IOException;
import java.time.Duration;

/** Host A reads blocks of one size from host B, as fast as it can. Confined to one thread. */
public interface ReadLoop extends AutoCloseable {
    /**
     * Reads for about that long, and returns the throughput of the time in which it read.
     *
     * @return bytes per second
     * @throws IOException if a read failed
     */
    double readFor(Duration length) throws IOException, InterruptedException;

    /** Ends the connection. */
    @Override
    void close() throws IOException;
}
