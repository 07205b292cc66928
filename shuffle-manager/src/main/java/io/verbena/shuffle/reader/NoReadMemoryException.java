package io.verbena.shuffle.reader;

import java.io.IOException;

/** There is no registered memory to read into now. */
final class NoReadMemoryException extends IOException {
    private static final long serialVersionUID = 1L;

    /** @param bytes that were wanted */
    NoReadMemoryException(long bytes) {
        super("no registered memory to read into: lengthBytes=" + bytes
                + "; raise spark.shuffle.rdma.memory.size if this is frequent");
    }
}
