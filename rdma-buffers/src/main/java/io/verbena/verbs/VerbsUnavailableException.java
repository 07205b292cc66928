package io.verbena.verbs;

/** There is no verbs library in this process. The message is one sentence with the reason and, where known, the remedy. */
public final class VerbsUnavailableException extends Exception {
    /** Creates one with its reason. */
    public VerbsUnavailableException(String reason) {
        super(reason);
    }

    /** Creates one with its reason and what was thrown. */
    public VerbsUnavailableException(String reason, Throwable cause) {
        super(reason, cause);
    }
}
