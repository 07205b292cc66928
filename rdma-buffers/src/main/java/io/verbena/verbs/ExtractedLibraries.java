package io.verbena.verbs;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Native libraries copied out of the jar into a new directory that only this user can enter, since the dynamic linker wants
 * files. A fresh copy each time: the JVM lets one loader only have a file.
 *
 * <p>Ownership: {@link #close} deletes the files, which loaded libraries do not need any more. Threads: confined to the opener.
 */
final class ExtractedLibraries implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExtractedLibraries.class);

    private final Path directory;
    private final Map<String, Path> files = new HashMap<>();

    private ExtractedLibraries(Path directory) {
        this.directory = directory;
    }

    /** Returns the folder of the jar with this machine's libraries. */
    static String resourceFolder() {
        return "native/"
                + System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(' ', '-')
                + "-"
                + System.getProperty("os.arch");
    }

    /**
     * Copies those of the libraries that the jar has for this machine.
     *
     * @throws IOException if {@code parent} cannot take them, or is mounted noexec; nothing stays behind
     */
    static ExtractedLibraries into(Path parent, ClassLoader resources, List<String> names) throws IOException {
        ExtractedLibraries result = new ExtractedLibraries(createDirectory(parent));
        try {
            for (String name : names) {
                result.extract(name, resources);
            }
            return result;
        } catch (IOException e) {
            result.close();
            throw e;
        }
    }

    private static Path createDirectory(Path parent) throws IOException {
        try {
            // Readable, writable and searchable for its owner alone.
            return Files.createTempDirectory(parent, "verbena-native-");
        } catch (NoSuchFileException e) {
            throw new IOException("no such directory", e);
        }
    }

    private void extract(String name, ClassLoader resources) throws IOException {
        String file = System.mapLibraryName(name);
        try (InputStream in = resources.getResourceAsStream(resourceFolder() + "/" + file)) {
            if (in == null) {
                return;
            }
            Path path = directory.resolve(file);
            Files.copy(in, path);
            files.put(name, path);
            // access(2) says no for a file with the x bit on a file system that is mounted noexec.
            if (!path.toFile().setExecutable(true, true) || !Files.isExecutable(path)) {
                throw new IOException("mounted noexec");
            }
        }
    }

    /** Returns the file of a library, null if the jar has none for this machine. */
    Path file(String name) {
        return files.get(name);
    }

    @Override
    public void close() {
        for (Path path : files.values()) {
            delete(path);
        }
        delete(directory);
    }

    private static void delete(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.debug("cannot delete path={} now, trying again when the JVM ends", path, e);
            path.toFile().deleteOnExit();
        }
    }
}
