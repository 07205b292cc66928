package io.verbena.bench.verbs;

import java.io.IOException;

/** A program that reads by RDMA. Confined to one thread. */
public interface Reader {
    /** Connects; the caller closes the result before it opens another. */
    ReadLoop open(int blockBytes) throws IOException, InterruptedException;
}
