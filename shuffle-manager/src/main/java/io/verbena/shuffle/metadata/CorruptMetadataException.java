package io.verbena.shuffle.metadata;

import java.io.IOException;

/** Metadata or a block from a peer (or from memory) failed a check. The reader tries another way, then fails the fetch. */
public class CorruptMetadataException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception; the message names the field, both sides of the comparison and the peer where it is known. */
    public CorruptMetadataException(String message) {
        super(message);
    }
}
