package io.verbena.suites;

import io.verbena.guest.SuiteReport.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * How a suite's JVM ended.
 *
 * @param exitStatus 0 when no test failed
 * @param seconds that it took
 * @param shuffles registered with our manager, by the keys of {@link io.verbena.suites.agent.ShuffleCounts}
 * @param leftFiles of shared memory when all its processes had ended
 * @param output what it printed
 */
record SuiteRun(
        int exitStatus,
        double seconds,
        List<Result> results,
        Map<String, Integer> shuffles,
        List<Path> leftFiles,
        Path output) {
    private static final int TAIL_CHARACTERS = 8000;

    /** ScalaTest's word for a suite that failed outside of its tests. */
    boolean aborted() throws IOException {
        return text().contains("*** ABORTED ***");
    }

    /** Returns the end of the output, for a failure's message. */
    String tail() throws IOException {
        String text = text();
        return "\n--- end of " + output + ":\n" + text.substring(Math.max(0, text.length() - TAIL_CHARACTERS));
    }

    private String text() throws IOException {
        return new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
    }
}
