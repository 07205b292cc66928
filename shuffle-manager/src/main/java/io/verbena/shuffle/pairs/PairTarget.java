package io.verbena.shuffle.pairs;

import java.io.IOException;
import java.io.OutputStream;

/** Where a record is put together. Positions count from the record's first byte; the record may move when it grows. */
public interface PairTarget {
    /**
     * Appends room for {@code length} bytes.
     *
     * @return its address, which the next call may change
     * @throws IOException if there is none
     */
    long append(int length) throws IOException;

    /** Bytes appended so far. */
    int length();

    /** The address of a byte appended before. */
    long address(int position);

    /** Appends what is written to it. */
    OutputStream stream();
}
