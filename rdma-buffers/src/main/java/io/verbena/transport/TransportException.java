package io.verbena.transport;

import java.io.IOException;

/** A peer's memory could not be read; the reason says what the caller can do about it. */
public class TransportException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Why, as a caller tells cases apart. */
    public enum Reason {
        /** This transport does not lead to that peer: use another way. */
        NOT_REACHABLE,
        /** The peer speaks another version of the descriptor: use another way. */
        VERSION_MISMATCH,
        /** The descriptor's bytes are damaged: fetch it again. */
        CORRUPT_DESCRIPTOR,
        /** Unknown key or a range outside its segment: refresh the segment table or the directory. */
        REMOTE_ACCESS,
        /** The peer has ended. */
        PEER_GONE,
        /** A deadline passed. */
        TIMEOUT,
        /** This side was closed. */
        CLOSED
    }

    private final Reason reason;

    public TransportException(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    public TransportException(Reason reason, String message, Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    /** Returns the category. */
    public Reason reason() {
        return reason;
    }
}
