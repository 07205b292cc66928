package io.verbena.it.containers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Writes what a class of tests proves to target/compatibility.tsv: line of Spark, Scala, JDK, kind of cluster, result. */
final class CompatibilityTable implements AfterTestExecutionCallback, AfterAllCallback {
    private int ran;
    private int failed;

    @Override
    public void afterTestExecution(ExtensionContext test) {
        ran++;
        if (test.getExecutionException().isPresent()) {
            failed++;
        }
    }

    @Override
    public void afterAll(ExtensionContext tests) throws IOException {
        boolean passed = ran > 0 && failed == 0 && tests.getExecutionException().isEmpty();
        Files.writeString(
                Path.of("target", "compatibility.tsv"),
                String.join(
                                "\t",
                                System.getProperty("verbena.spark"),
                                System.getProperty("verbena.scala"),
                                Integer.toString(Runtime.version().feature()),
                                "containers",
                                passed ? "passed" : "failed")
                        + "\n");
    }
}
