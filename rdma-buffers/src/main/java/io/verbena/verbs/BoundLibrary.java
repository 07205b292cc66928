package io.verbena.verbs;

/** What {@link VerbsLibrary} asks of the classes that are bound to the native library; they are in another class loader. */
public interface BoundLibrary {
    /** Returns the hash of libverbena's sources. Throws UnsatisfiedLinkError if it cannot be loaded. */
    String buildHash();

    /** Returns the hash of libdisni's sources. Throws UnsatisfiedLinkError if it is not ours. */
    String disniBuildHash();

    /** Opens libibverbs and librdmacm under the file names, and returns null or the reason why not. */
    String open(String ibverbsFile, String rdmacmFile);
}
