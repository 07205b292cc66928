package io.verbena.it.process;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** Messages between processes, as files in a directory that all of them see. A message is its name and a text. */
public final class Messages implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final long DEADLINE_SECONDS = 90;

    private final String directory;

    /** Messages in a directory that is there. */
    public Messages(Path directory) {
        this.directory = directory.toString();
    }

    /** Writes a message. */
    public void raise(String name, String text) {
        try {
            // Moved into place, so that nobody reads half a message.
            Path draft = Files.createTempFile(Path.of(directory), ".draft", "");
            Files.writeString(draft, text);
            Files.move(draft, Path.of(directory, name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Texts of all messages whose name begins with {@code name}. */
    public List<String> texts(String name) {
        try (Stream<Path> files = Files.list(Path.of(directory))) {
            return files.filter(file -> file.getFileName().toString().startsWith(name))
                    .map(Messages::read)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Waits until there are that many messages, or until it is of no use.
     *
     * @param useless for instance because the task that waits is killed
     */
    public void await(String name, int count, BooleanSupplier useless) {
        if (!Await.within(DEADLINE_SECONDS, () -> texts(name).size() >= count || useless.getAsBoolean())) {
            throw new IllegalStateException("message did not come: name=" + name + ", got="
                    + texts(name).size() + ", expected=" + count);
        }
    }
}
