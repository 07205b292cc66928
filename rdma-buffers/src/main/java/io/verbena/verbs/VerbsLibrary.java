package io.verbena.verbs;

import io.verbena.verbs.VerbsLibraryOptions.Source;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The native verbs library, loaded without java.library.path and without JVM flags: a class loader of its own, in which DiSNI and
 * the code on top of it live, and the libraries of the jar in a private directory. That there is a library says nothing about
 * devices.
 *
 * <p>Ownership: each call of {@link #open} gives an independent copy, which lives as long as its classes do.
 * <p>Threads: immutable.
 */
public final class VerbsLibrary {
    private static final List<String> PREFIXES =
            List.of("com.ibm.disni.", "io.verbena.verbs.bound.", "io.verbena.transport.verbs.engine.");
    private static final String PROBE = "io.verbena.verbs.bound.BoundLibraryProbe";
    private static final String DISNI = "disni";
    private static final String VERBENA = "verbena";
    private static final String BUILD_HASH = "native/build-hash";
    /** DiSNI's classes whose initialisers load libdisni: while its file is there. */
    private static final List<String> DISNI_LOADERS =
            List.of("com.ibm.disni.verbs.impl.NativeDispatcher", "com.ibm.disni.util.NativeAffinity");

    private final ClassLoader loader;
    private final String description;

    private VerbsLibrary(ClassLoader loader, String description) {
        this.loader = loader;
        this.description = description;
    }

    /**
     * Loads the library and opens libibverbs and librdmacm. A failure leaves nothing behind; the next attempt starts afresh.
     *
     * @throws VerbsUnavailableException if one of them is missing, too old, for another machine or of another build
     */
    public static VerbsLibrary open(VerbsLibraryOptions options) throws VerbsUnavailableException {
        return open(options, VerbsLibrary.class.getClassLoader());
    }

    static VerbsLibrary open(VerbsLibraryOptions options, ClassLoader parent) throws VerbsUnavailableException {
        List<String> failures = new ArrayList<>();
        for (Path directory : options.directories()) {
            try {
                return open(options, parent, directory);
            } catch (IOException | UnsatisfiedLinkError e) {
                failures.add(directory + " (" + e.getMessage() + ")");
            }
        }
        throw new VerbsUnavailableException("the native library for os=" + System.getProperty("os.name") + ", arch="
                + System.getProperty("os.arch") + " cannot be loaded from any of " + failures.size() + " directories: "
                + String.join(", ", failures));
    }

    private static VerbsLibrary open(VerbsLibraryOptions options, ClassLoader parent, Path directory)
            throws VerbsUnavailableException, IOException {
        boolean bundled = options.source() == Source.BUNDLED;
        List<String> names = bundled ? List.of(VERBENA, DISNI) : List.of(VERBENA);
        try (ExtractedLibraries libraries = ExtractedLibraries.into(directory, parent, names)) {
            List<String> prefixes = new ArrayList<>(PREFIXES);
            prefixes.addAll(options.prefixes());
            ClassLoader loader = new BoundClassLoader(parent, prefixes, libraries);
            BoundLibrary library = instantiate(loader, BoundLibrary.class, PROBE);
            String hash = checkHash("libverbena", library.buildHash(), expectedHash(parent));
            boolean ownDisni = libraries.file(DISNI) == null;
            loadDisni(loader, ownDisni);
            if (!ownDisni) {
                checkHash("libdisni", library.disniBuildHash(), hash);
            }
            String reason = library.open(options.ibverbsFile(), options.rdmacmFile());
            if (reason != null) {
                throw new VerbsUnavailableException("rdma-core cannot be opened: " + reason
                        + "; install libibverbs1 and librdmacm1 (Debian) or libibverbs and librdmacm (Red Hat)");
            }
            return new VerbsLibrary(
                    loader, "libdisni=" + (ownDisni ? "java.library.path" : "bundled") + ", build=" + hash);
        }
    }

    private static void loadDisni(ClassLoader loader, boolean own) throws VerbsUnavailableException {
        try {
            for (String name : DISNI_LOADERS) {
                Class.forName(name, true, loader);
            }
        } catch (ClassNotFoundException e) {
            throw new VerbsUnavailableException("the jar lacks DiSNI's class " + e.getMessage(), e);
        } catch (UnsatisfiedLinkError e) {
            if (own) {
                throw new VerbsUnavailableException(
                        "the user's libdisni cannot be loaded: " + e.getMessage()
                                + "; put its folder on the library path or use the bundled one",
                        e);
            }
            throw e;
        }
    }

    private static String expectedHash(ClassLoader parent) throws VerbsUnavailableException, IOException {
        try (InputStream in = parent.getResourceAsStream(BUILD_HASH)) {
            if (in == null) {
                throw new VerbsUnavailableException("the jar has no native libraries: resource=" + BUILD_HASH);
            }
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII).strip();
        }
    }

    private static String checkHash(String name, String actual, String expected) throws VerbsUnavailableException {
        if (!actual.equals(expected)) {
            throw new VerbsUnavailableException(name + " is of another build than the jar: library=" + actual + ", jar="
                    + expected + "; leave only one version of Verbena on the class path");
        }
        return actual;
    }

    /** Returns the loader; classes under its prefixes are its own and share nothing static with the caller's. */
    public ClassLoader classLoader() {
        return loader;
    }

    /** Returns where the library comes from, for a log line. */
    public String description() {
        return description;
    }

    /**
     * Creates an object of a class in the library's loader by its public constructor without parameters.
     *
     * @param type a type that the caller's loader shares, not one under the prefixes
     */
    public <T> T instantiate(Class<T> type, String className) {
        return instantiate(loader, type, className);
    }

    private static <T> T instantiate(ClassLoader loader, Class<T> type, String className) {
        try {
            return type.cast(
                    Class.forName(className, true, loader).getConstructor().newInstance());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException("cannot create class=" + className + " in the library's loader", e);
        }
    }
}
