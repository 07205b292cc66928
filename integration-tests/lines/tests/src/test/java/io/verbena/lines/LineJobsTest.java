package io.verbena.lines;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.AppJar;
import io.verbena.it.process.SharedMemory;
import io.verbena.it.process.SparkInstallation;
import io.verbena.it.process.Submission;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The jar that users get, on the jars of every line and on every JDK that is there and that the line supports: one application with our
 * shuffle on two executors gives what it gives with Spark's.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("slow")
class LineJobsTest {
    private static final Path JAR =
            Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
    private static final String SUMMARY = "shuffle summary of the application: ";
    /** What a JVM says of calls that later ones will refuse, with the caller's class and jar. */
    private static final Pattern COMPLAINT = Pattern.compile("WARNING: .*(verbena|shuffle\\.rdma|disni).*");

    private final Map<Line, List<String>> answers = new EnumMap<>(Line.class);
    private Path directory;
    private Path app;

    @BeforeAll
    void start(@TempDir Path temporary) throws IOException {
        assertThat(JAR).as("made by the package phase of shuffle-manager").isRegularFile();
        directory = temporary;
        app = AppJar.write(directory.resolve("app.jar"), LineApp.class);
    }

    static List<Arguments> runs() throws IOException {
        List<Arguments> runs = new ArrayList<>();
        for (Line line : Line.values()) {
            for (Jdk jdk : Jdk.all()) {
                if (line.runsOn(jdk)) {
                    runs.add(Arguments.of(line, jdk));
                }
            }
        }
        return runs;
    }

    private SparkInstallation install(Line line, Jdk jdk) throws Exception {
        return new SparkInstallation(
                directory.resolve(line.name() + "-" + jdk.version()),
                line.jars(),
                line.scala(),
                jdk.home(),
                line.launcherOptions());
    }

    private Submission submission(String name, String master) {
        return new Submission(name, master, LineApp.class, app)
                .conf("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
                .conf("spark.sql.autoBroadcastJoinThreshold", "-1");
    }

    private Submission ourSubmission(Line line, SharedMemory memory) {
        Submission ours = submission("ours", "local-cluster[2,1,1024]").ourShuffle(memory);
        // Executors of 3.5 make the shuffle manager before they fetch the application's jars.
        return line.atLeast(Line.SPARK_4_0) ? ours.jars(JAR) : ours.classPath(JAR);
    }

    private static Stream<String> results(List<String> log) {
        return log.stream().filter(line -> line.startsWith(LineApp.RESULT));
    }

    private List<String> answersOfSpark(Line line, SparkInstallation spark) throws Exception {
        List<String> known = answers.get(line);
        if (known == null) {
            known = results(spark.submit(submission("sort", "local[2]"))).toList();
            assertThat(known)
                    .contains(LineApp.RESULT + "adaptive true, broadcast false")
                    .filteredOn(text -> text.contains("joined"))
                    .hasSize(13);
            assertThat(known)
                    .filteredOn(text -> text.contains("reduced") || text.contains("grouped"))
                    .hasSize(2 * 47);
            answers.put(line, known);
        }
        return known;
    }

    @ParameterizedTest(name = "{0}, {1}")
    @MethodSource("runs")
    void shouldGiveTheAnswersOfSparksShuffle(Line line, Jdk jdk) throws Exception {
        Compatibility.record(line, jdk, "jobs", () -> {
            try (SharedMemory memory = SharedMemory.create();
                    SparkInstallation spark = install(line, jdk)) {
                List<String> log = spark.submit(ourSubmission(line, memory));
                assertThat(results(log)).isEqualTo(answersOfSpark(line, spark));
                assertOurs(log);
                List<List<String>> executors = spark.executorLogs();
                assertThat(executors)
                        .as("logs of executors")
                        .hasSize(2)
                        .allSatisfy(executor -> assertThat(executor)
                                .as("our memory was set up")
                                .anyMatch(text -> text.contains("shuffle memory is ready")));
                assertThat(Stream.concat(Stream.of(log), executors.stream()).flatMap(List::stream))
                        .as("what the JVM warns of")
                        .noneMatch(text -> COMPLAINT.matcher(text).matches());
                System.out.println(line + ", " + jdk + " (" + jdk.home() + "): "
                        + log.stream()
                                .filter(text -> text.contains(SUMMARY))
                                .findFirst()
                                .orElseThrow());
            }
        });
    }

    /** All shuffles were ours, in memory, and executors read one another's by mapping. */
    private static void assertOurs(List<String> log) {
        assertThat(log).noneMatch(text -> text.contains("Spark's own shuffle is used"));
        assertThat(log)
                .filteredOn(text -> text.contains(SUMMARY))
                .singleElement()
                .satisfies(summary -> assertThat(summary)
                        .containsPattern("writtenInMemoryBytes=[1-9]")
                        .containsPattern("readMappedBytes=[1-9]")
                        .doesNotContainPattern(
                                "overflowed|readNettyBytes|readLocalFileBytes|readRetries|fetchFailures"));
    }

    /** A line that no JDK of this machine runs would be left out without a word. */
    @Test
    void shouldHaveAJdkForEveryLine() throws IOException {
        assertThat(Line.values())
                .allSatisfy(line -> assertThat(Jdk.all())
                        .as("JDKs of versions %s; name their homes in VERBENA_JDKS", line.javaVersions())
                        .anyMatch(line::runsOn));
    }
}
