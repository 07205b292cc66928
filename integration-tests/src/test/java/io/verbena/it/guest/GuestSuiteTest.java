package io.verbena.it.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import io.verbena.guest.Guest;
import io.verbena.guest.GuestResult;
import io.verbena.guest.JavaCommand;
import io.verbena.guest.SuiteReport;
import io.verbena.guest.SuiteReport.Result;
import io.verbena.it.TpcdsData;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TagFilter;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Boots the guest once, runs all test classes tagged "guest" inside, and reports their tests as its own.
 *
 * <p>A test class comes from the test classes of this module or of rdma-buffers. A machine that cannot run the guest fails this test,
 * with the packages to install. The reports and all output are kept in target/guest/suites.
 */
@Tag("slow")
@Tag("emulated")
class GuestSuiteTest {
    /** Emulation on a busy machine takes twice as long as on an idle one. */
    private static final Duration LIMIT = Duration.ofMinutes(25);

    private static final String TAG = "guest";

    /** For the developer's loop: a pattern of class names. */
    private static final String SELECTION = System.getProperty("verbena.guest.tests", ".*");

    /** What Spark's workers ask the environment for, as surefire sets it for tests outside. */
    private static final String SPARK =
            "export SPARK_HOME=/run/spark-home SPARK_SCALA_VERSION=" + System.getenv("SPARK_SCALA_VERSION") + "\n";

    @TestFactory
    Stream<DynamicContainer> shouldPassInTheGuest() throws Exception {
        Set<String> classes = taggedClasses();
        assertThat(classes)
                .as("test classes tagged %s that match %s", TAG, SELECTION)
                .isNotEmpty();

        TpcdsData.prepare();
        Path directory = Path.of("target", "guest", "suites");
        GuestResult run =
                new Guest(directory).limit(LIMIT).run(SPARK + console(classes).script());
        // 1 is "tests failed"; they are reported one by one below.
        assertThat(run.exitStatus())
                .as("exit status of the launcher in the guest%s", run.tails())
                .isIn(0, 1);
        SuiteReport report = SuiteReport.read(run.directory().resolve("reports"));
        return classes.stream()
                .map(name -> DynamicContainer.dynamicContainer(
                        name, tests(name, report.results().getOrDefault(name, List.of()))));
    }

    private static Stream<DynamicTest> tests(String className, List<Result> results) {
        if (results.isEmpty()) {
            return Stream.of(
                    DynamicTest.dynamicTest(className, () -> fail("no test of " + className + " ran in the guest")));
        }
        return results.stream().map(result -> DynamicTest.dynamicTest(result.name(), () -> repeat(result)));
    }

    private static void repeat(Result result) {
        String text = result.className() + "." + result.name() + ": " + result.message();
        switch (result.outcome()) {
            case PASSED -> {}
            case SKIPPED -> abort(text);
            case FAILED -> fail(text);
        }
    }

    private static Set<String> taggedClasses() {
        TestPlan plan = LauncherFactory.create()
                .discover(LauncherDiscoveryRequestBuilder.request()
                        .selectors(DiscoverySelectors.selectClasspathRoots(testClasses()))
                        .filters(TagFilter.includeTags(TAG))
                        .build());
        return plan.getRoots().stream()
                .flatMap(root -> plan.getDescendants(root).stream())
                .map(TestIdentifier::getSource)
                .flatMap(source -> source.stream())
                .filter(MethodSource.class::isInstance)
                .map(source -> ((MethodSource) source).getClassName())
                .filter(name -> name.matches(SELECTION))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** In a build of all modules the tests of rdma-buffers are a directory or a jar, depending on Maven's phase. */
    private static Set<Path> testClasses() {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
                .filter(entry -> entry.endsWith("test-classes") || entry.matches(".*/rdma-buffers-[^/]*-tests\\.jar"))
                .map(Path::of)
                .collect(Collectors.toSet());
    }

    private static JavaCommand console(Set<String> classes) {
        List<String> arguments = new ArrayList<>(List.of(
                "execute",
                "--disable-banner",
                "--disable-ansi-colors",
                // A line when a test starts and when it ends: a run that is cut off tells where.
                "--details=testfeed",
                "--include-tag=" + TAG,
                "--reports-dir=/exchange/reports"));
        classes.forEach(name -> arguments.add("--select-class=" + name));
        String opens = System.getProperty("spark.jvm.opens");
        List<String> jvmOptions = new ArrayList<>(List.of(opens.split(" ", -1)));
        jvmOptions.addAll(List.of(
                "-Xmx1g", "-Djunit.jupiter.execution.timeout.threaddump.enabled=true", "-Dspark.jvm.opens=" + opens));
        // How much to run, for instance -Dverbena.soak.cycles.
        System.getProperties().stringPropertyNames().stream()
                .filter(name -> name.startsWith("verbena."))
                .forEach(name -> jvmOptions.add("-D" + name + "=" + System.getProperty(name)));
        return new JavaCommand(jvmOptions, "org.junit.platform.console.ConsoleLauncher", arguments);
    }
}
