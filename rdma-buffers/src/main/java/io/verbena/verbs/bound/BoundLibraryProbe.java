package io.verbena.verbs.bound;

import io.verbena.verbs.BoundLibrary;

/** The native calls that check the library; created by VerbsLibrary through the loader that it opens. */
public final class BoundLibraryProbe implements BoundLibrary {
    /** Creates one; the library is loaded with its first call. */
    public BoundLibraryProbe() {}

    @Override
    public String buildHash() {
        return VerbsNative.buildHash();
    }

    @Override
    public String disniBuildHash() {
        return VerbsNative.disniBuildHash();
    }

    @Override
    public String open(String ibverbsFile, String rdmacmFile) {
        return VerbsNative.openNamed(ibverbsFile, rdmacmFile);
    }
}
