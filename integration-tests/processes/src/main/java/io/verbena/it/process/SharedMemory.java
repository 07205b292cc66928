package io.verbena.it.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A folder of its own for a test's shared memory files. {@link #close} demands that executors have removed them all. */
public final class SharedMemory implements AutoCloseable {
    private static final Path TMPFS = Path.of("/dev/shm");
    private static final long REMOVAL_SECONDS = 20;

    private final Path directory;

    private SharedMemory(Path directory) {
        this.directory = directory;
    }

    /** Makes an empty folder. */
    public static SharedMemory create() throws IOException {
        return new SharedMemory(Files.createTempDirectory(TMPFS, "verbena-it-"));
    }

    /** The folder. */
    public Path directory() {
        return directory;
    }

    /** Segments in the folder; not the lock that outlives executors. */
    public List<Path> files() {
        try (Stream<Path> tree = Files.walk(directory)) {
            return tree.filter(Files::isRegularFile)
                    .filter(file -> !file.getFileName().toString().equals("sweep.lock"))
                    .toList();
        } catch (IOException | UncheckedIOException e) {
            // Executors remove files meanwhile.
            return List.of();
        }
    }

    /** Removes the folder with all that is in it. */
    public void remove() {
        try (Stream<Path> tree = Files.walk(directory)) {
            for (Path path : tree.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Waits until executors have removed their files, then removes the folder, in any case.
     *
     * @throws IllegalStateException if files were left
     */
    @Override
    public void close() {
        boolean empty = Await.within(REMOVAL_SECONDS, () -> files().isEmpty());
        List<Path> left = files();
        remove();
        if (!empty) {
            throw new IllegalStateException("files were left in shared memory: " + left);
        }
    }
}
