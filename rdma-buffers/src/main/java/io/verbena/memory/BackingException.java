package io.verbena.memory;

import java.io.IOException;

/** Memory could not be had from a backing; the message says what failed and the remedy. Nothing is left allocated. */
public class BackingException extends IOException {
    private static final long serialVersionUID = 1L;

    public BackingException(String message) {
        super(message);
    }

    public BackingException(String message, Throwable cause) {
        super(message, cause);
    }
}
