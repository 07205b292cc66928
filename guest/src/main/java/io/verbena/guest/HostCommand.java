package io.verbena.guest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Runs short commands to their end. Any thread. */
final class HostCommand {
    private HostCommand() {}

    /**
     * Returns what the command printed on both streams.
     *
     * @param limit after which it is killed
     * @throws IOException if it cannot be started, is killed or ends with another status than 0; with its output
     */
    static String run(Path directory, Duration limit, String... command) throws IOException, InterruptedException {
        Path output = Files.createTempFile("verbena-command-", ".log");
        try {
            List<String> words = new ArrayList<>(List.of(command));
            words.set(0, find(command[0]).map(Path::toString).orElse(command[0]));
            Process process = new ProcessBuilder(words)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectOutput(output.toFile())
                    .start();
            boolean ended;
            try {
                ended = process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS);
            } finally {
                process.destroyForcibly();
            }
            String text = Files.readString(output, StandardCharsets.UTF_8);
            if (!ended || process.exitValue() != 0) {
                throw new IOException("command failed: command=" + String.join(" ", command) + ", "
                        + (ended ? "exitStatus=" + process.exitValue() : "not ended after " + limit) + ", output="
                        + text.strip());
            }
            return text;
        } finally {
            Files.delete(output);
        }
    }

    /** A command, or a file's absolute path, and the Debian package that brings it. */
    record Tool(String command, String debianPackage) {}

    /**
     * Asserts that the tools are installed.
     *
     * @throws IOException naming all that are missing and their packages
     */
    static void require(List<Tool> tools) throws IOException {
        List<String> commands = new ArrayList<>();
        List<String> packages = new ArrayList<>();
        for (Tool tool : tools) {
            if (!isInstalled(tool.command())) {
                commands.add(tool.command());
                packages.add(tool.debianPackage());
            }
        }
        if (!commands.isEmpty()) {
            throw new IOException("the guest cannot run: missing=" + String.join(",", commands)
                    + "; on Debian run: apt-get install --no-install-recommends "
                    + String.join(" ", packages.stream().distinct().toList()));
        }
    }

    private static boolean isInstalled(String command) {
        return command.startsWith("/")
                ? Files.exists(Path.of(command))
                : find(command).isPresent();
    }

    private static Optional<Path> find(String command) {
        // Users' paths leave out the directories of administrators' commands, which some of the tools are.
        String path = System.getenv().getOrDefault("PATH", "") + ":/usr/sbin:/sbin";
        return Stream.of(path.split(":", -1))
                .map(directory -> Path.of(directory, command))
                .filter(Files::isExecutable)
                .findFirst();
    }
}
