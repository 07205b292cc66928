package io.verbena.it;

import io.verbena.it.process.Await;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;

/** Messages between tasks and the test, as files in a directory that all processes see. A message is its name and a text. */
final class Signal implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final long DEADLINE_SECONDS = 90;

    private final String directory;

    Signal(Path directory) {
        this.directory = directory.toString();
    }

    /** From a task: "executor id:process id" under a name of its own that begins with {@code name}. */
    void fromTask(String name) {
        raise(
                name + "-" + TaskContext.get().taskAttemptId(),
                SparkEnv.get().executorId() + ":" + ProcessHandle.current().pid());
    }

    void raise(String name, String text) {
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
    List<String> texts(String name) {
        try (Stream<Path> files = Files.list(Path.of(directory))) {
            return files.filter(file -> file.getFileName().toString().startsWith(name))
                    .map(Signal::read)
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

    /** Waits until there are that many messages; a task that is killed stops waiting. */
    void await(String name, int count) {
        boolean there = Await.within(
                DEADLINE_SECONDS,
                () -> texts(name).size() >= count
                        || (TaskContext.get() != null && TaskContext.get().isInterrupted()));
        if (!there) {
            throw new IllegalStateException(
                    "signal did not come: name=" + name + ", got=" + texts(name).size() + ", expected=" + count);
        }
    }
}
