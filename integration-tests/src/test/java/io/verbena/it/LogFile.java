package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The log of a JVM that a test has started. */
record LogFile(Path file) {
    List<String> lines() {
        try {
            // Not Files.readAllLines: half a character at the end of a file that is being written is no reason to fail.
            return new String(Files.readAllBytes(file), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits for a line that contains a text. */
    void await(String text) {
        assertThat(Waiting.within(90, () -> lines().stream().anyMatch(line -> line.contains(text))))
                .as("%s in %s", text, this)
                .isTrue();
    }

    /** The whole log, for messages of failed assertions. */
    @Override
    public String toString() {
        return file + ":\n" + String.join("\n", lines());
    }
}
