package io.verbena.verbs;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.List;

/**
 * Defines the classes that touch native methods anew, child-first, so that each has its own copy of the native library and a
 * failed attempt leaves nothing behind. Their bytes come from a folder of the jar that no other loader reads, where DiSNI is, with
 * our classes in place of its MemoryUtils, which needs JVM flags, and its logger, which is loud; else from the parent's class path.
 *
 * <p>Order of System.loadLibrary: {@link #findLibrary} first, java.library.path if it returns null.
 * <p>Threads: any; parallel capable.
 */
final class BoundClassLoader extends ClassLoader {
    static {
        registerAsParallelCapable();
    }

    private static final String OWN_CLASSES = "native/classes/";

    private final List<String> prefixes;
    private final ExtractedLibraries libraries;
    private final ProtectionDomain domain;

    BoundClassLoader(ClassLoader parent, List<String> prefixes, ExtractedLibraries libraries) {
        super("verbena-verbs", parent);
        this.prefixes = List.copyOf(prefixes);
        this.libraries = libraries;
        domain = BoundClassLoader.class.getProtectionDomain();
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (prefixes.stream().noneMatch(name::startsWith)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded == null) {
                loaded = define(name);
            }
            if (resolve) {
                resolveClass(loaded);
            }
            return loaded;
        }
    }

    private Class<?> define(String name) throws ClassNotFoundException {
        String file = name.replace('.', '/') + ".class";
        try {
            byte[] bytes = read(OWN_CLASSES + file);
            if (bytes == null) {
                bytes = read(file);
            }
            if (bytes == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, bytes, 0, bytes.length, domain);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    private byte[] read(String resource) throws IOException {
        try (InputStream in = getParent().getResourceAsStream(resource)) {
            return in == null ? null : in.readAllBytes();
        }
    }

    @Override
    protected String findLibrary(String name) {
        Path file = libraries.file(name);
        return file == null ? null : file.toString();
    }
}
