package io.verbena.registration;

/** A device does not register a mapped file, or the cache may not have it registered; the file is read another way. */
public final class RegistrationException extends Exception {
    private static final long serialVersionUID = 1L;

    private final boolean badAddress;

    /** @param badAddress the kernel does not pin pages of a mapping of this kind (EFAULT); one of another kind may do */
    public RegistrationException(String message, boolean badAddress, Throwable cause) {
        super(message, cause);
        this.badAddress = badAddress;
    }

    /** Creates a refusal that has nothing to do with the kind of mapping. */
    public RegistrationException(String message) {
        this(message, false, null);
    }

    /** Returns whether a mapping of another kind may be registered where this one was not. */
    public boolean isBadAddress() {
        return badAddress;
    }
}
