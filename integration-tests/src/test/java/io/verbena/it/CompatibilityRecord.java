package io.verbena.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestWatcher;

/** One line per {@link Shows} in the module's {@code target/compatibility.tsv}: line of Spark, Scala, JDK, what, result. */
final class CompatibilityRecord implements TestWatcher {
    private static final Path FILE = Path.of("target", "compatibility.tsv");

    @Override
    public void testSuccessful(ExtensionContext test) {
        record(test, "passed");
    }

    @Override
    public void testFailed(ExtensionContext test, Throwable cause) {
        record(test, "failed");
    }

    @Override
    public void testAborted(ExtensionContext test, Throwable cause) {
        record(test, "skipped");
    }

    private static synchronized void record(ExtensionContext test, String result) {
        String what = test.getRequiredTestMethod().getAnnotation(Shows.class).value();
        String key = String.join(
                "\t",
                org.apache.spark.package$.MODULE$.SPARK_VERSION(),
                scala.util.Properties.versionNumberString().replaceFirst("^(\\d+\\.\\d+).*", "$1"),
                Integer.toString(Runtime.version().feature()),
                what,
                "");
        try {
            List<String> lines = new ArrayList<>(Files.exists(FILE) ? Files.readAllLines(FILE) : List.of());
            // A module may be run again without a clean build.
            lines.removeIf(line -> line.startsWith(key));
            lines.add(key + result);
            Files.createDirectories(FILE.getParent());
            Files.write(FILE, lines);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
