package io.verbena.guest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a command in the guest left behind.
 *
 * @param exitStatus of the command
 * @param directory the host's side of the exchange: {@code stdout}, {@code stderr}, {@code console.log} and the command's own files
 */
public record GuestResult(int exitStatus, Path directory) {
    private static final int TAIL_CHARACTERS = 8000;

    /** Returns what the command wrote on its standard output. */
    public String output() throws IOException {
        return text(directory.resolve("stdout"));
    }

    /** Returns the ends of the command's output and of the console, for a failure's message. */
    public String tails() throws IOException {
        return tails(directory);
    }

    static String tails(Path directory) throws IOException {
        StringBuilder tails = new StringBuilder();
        for (String name : new String[] {"console.log", "stderr", "stdout"}) {
            String text = text(directory.resolve(name));
            tails.append("\n--- end of ").append(directory.resolve(name)).append(":\n");
            tails.append(text, Math.max(0, text.length() - TAIL_CHARACTERS), text.length());
        }
        return tails.toString();
    }

    private static String text(Path file) throws IOException {
        // Output may be cut anywhere, so malformed characters are replaced.
        return Files.exists(file) ? new String(Files.readAllBytes(file), StandardCharsets.UTF_8) : "";
    }
}
