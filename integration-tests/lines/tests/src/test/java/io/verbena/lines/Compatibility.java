package io.verbena.lines;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Writes what was tried on which line and JDK, and how it went, to a table of tab-separated values. Threads: the tests'. */
final class Compatibility {
    private static final Path FILE = Path.of(System.getProperty("verbena.compatibility"));
    private static final List<String> ROWS = new ArrayList<>(List.of("line\tscala\tjdk\twhat\tresult"));

    /** What is tried; it throws if it fails. */
    @FunctionalInterface
    interface Trial {
        void run() throws Exception;
    }

    private Compatibility() {}

    /** Runs a trial and adds its row, also if it fails. */
    static void record(Line line, Jdk jdk, String what, Trial trial) throws Exception {
        String result = "failed";
        try {
            trial.run();
            result = "passed";
        } finally {
            add(String.join("\t", line.spark(), line.scala(), Integer.toString(jdk.version()), what, result));
        }
    }

    private static synchronized void add(String row) throws IOException {
        ROWS.add(row);
        Files.write(FILE, ROWS);
    }
}
