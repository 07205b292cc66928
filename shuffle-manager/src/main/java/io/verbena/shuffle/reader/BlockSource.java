package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.BlockLayout;
import java.io.IOException;

/** The blocks of one map output that a reduce task wants, whichever way they came. Threads: confined to the task. */
interface BlockSource extends AutoCloseable {
    /** The map output, for errors. */
    MapRef ref();

    BlockLayout layout();

    /**
     * Returns the next slice, verified, or {@code null} after the last. The previous slice's memory stays valid until
     * {@link #close}.
     *
     * @throws IOException if the bytes cannot be had or fail their checksum
     */
    Slice next() throws IOException;

    @Override
    void close();
}
