package io.verbena.guest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

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
            Process process = new ProcessBuilder(command)
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
        if (command.startsWith("/")) {
            return Files.exists(Path.of(command));
        }
        // Users' paths leave out the directories of administrators' commands, which some of the tools are.
        String path = System.getenv().getOrDefault("PATH", "") + ":/usr/sbin:/sbin";
        return List.of(path.split(":", -1)).stream()
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, command)));
    }
}
