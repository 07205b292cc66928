package io.verbena.bench.driver;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.commons.io.file.PathUtils;

/**
 * The folder for Spark's files while a benchmark runs: empty at first, and gone after {@link #close()}. What a killed benchmark left
 * there goes at the next start of the same one, so two runs of one benchmark by one user must not overlap. Not thread safe.
 */
public final class Scratch implements Closeable {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    private final Path folder;

    private Scratch(Path folder) {
        this.folder = folder;
    }

    /**
     * On tmpfs if there is room: a disk and its journal would be most of what Spark's writers take, and never the same twice.
     *
     * @param benchmark its name, as in {@code bin/bench NAME}
     * @param bytes what the benchmark may need, in bytes
     * @param otherwise the folder to make it in when tmpfs has less room
     */
    public static Scratch open(String benchmark, long bytes, Path otherwise) throws IOException {
        boolean room = Files.isWritable(SHARED_MEMORY)
                && Files.getFileStore(SHARED_MEMORY).getUsableSpace() >= bytes;
        return in(room ? SHARED_MEMORY : otherwise, benchmark);
    }

    /**
     * @param parent may hold other things, which stay
     * @param benchmark its name, as in {@code bin/bench NAME}
     */
    public static Scratch in(Path parent, String benchmark) throws IOException {
        Scratch scratch = new Scratch(parent.resolve("verbena-" + benchmark + "-" + System.getProperty("user.name"))
                .toAbsolutePath());
        scratch.close();
        Files.createDirectories(scratch.folder);
        return scratch;
    }

    /** Returns an absolute path. */
    public Path folder() {
        return folder;
    }

    @Override
    public void close() throws IOException {
        if (Files.exists(folder)) {
            PathUtils.deleteDirectory(folder);
        }
    }

    @Override
    public String toString() {
        return folder.toString();
    }
}
