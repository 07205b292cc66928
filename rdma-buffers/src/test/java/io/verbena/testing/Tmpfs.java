package io.verbena.testing;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Directories on memory file systems, for tests; gone when closed. */
public final class Tmpfs implements AutoCloseable {
    private static final Path SHM = Path.of("/dev/shm");

    private final Path path;
    private final boolean mounted;

    private Tmpfs(Path path, boolean mounted) {
        this.path = path;
        this.mounted = mounted;
    }

    /** Returns a new directory in /dev/shm. */
    public static Tmpfs directory() throws IOException {
        return new Tmpfs(Files.createTempDirectory(SHM, "verbena-test-"), false);
    }

    /** Mounts a file system; needs root. */
    public static Tmpfs mount(String type, String options) throws IOException {
        Path path = Files.createTempDirectory("verbena-mount-");
        try {
            run("mount", "-t", type, "-o", options, "none", path.toString());
        } catch (IOException e) {
            Files.delete(path);
            throw e;
        }
        return new Tmpfs(path, true);
    }

    /** Returns the directory. */
    public Path path() {
        return path;
    }

    /** Returns whether this process may mount. */
    public static boolean canMount() throws IOException {
        return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
    }

    @Override
    public void close() throws IOException {
        if (mounted) {
            run("umount", path.toString());
        } else {
            delete(path);
            return;
        }
        Files.delete(path);
    }

    private static void delete(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            try (DirectoryStream<Path> children = Files.newDirectoryStream(path)) {
                for (Path child : children) {
                    delete(child);
                }
            }
        }
        Files.delete(path);
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + " failed: status=" + status + ", " + output.strip());
        }
    }
}
