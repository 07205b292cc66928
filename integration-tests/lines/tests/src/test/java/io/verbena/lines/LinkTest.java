package io.verbena.lines;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.tree.ClassNode;

/** The jar that users get finds all that it refers to among the jars of every line. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LinkTest {
    private static final String RESOLVER = "org.apache.spark.shuffle.IndexShuffleBlockResolver.<init>"
            + "(Lorg/apache/spark/SparkConf;Lorg/apache/spark/storage/BlockManager;";
    private static final Set<Line> BEFORE_4_1 = EnumSet.range(Line.SPARK_3_5_SCALA_2_12, Line.SPARK_4_0);
    private static final Set<Line> FROM_4_1 = EnumSet.range(Line.SPARK_4_1, Line.SPARK_4_2);

    /**
     * References that some lines do not have.
     *
     * @param reason why they do no harm there
     */
    private record Absence(Set<Line> lines, String problem, String reason) {}

    /** Exact: one that does not occur on each of its lines fails the test as well. */
    private static final List<Absence> ABSENCES = List.of(
            new Absence(
                    BEFORE_4_1,
                    "org.apache.spark.shuffle.rdma.BlockResolverBase41: no method " + RESOLVER
                            + "Ljava/util/concurrent/ConcurrentMap;)V",
                    "only RdmaBlockResolver41 extends it, which is made from 4.1 on"),
            new Absence(
                    FROM_4_1,
                    "org.apache.spark.shuffle.rdma.RdmaBlockResolver: no method " + RESOLVER + "Ljava/util/Map;)V",
                    "made before 4.1 only"));

    /** The folder of the jar whose classes only the loader of the native libraries reads. */
    private static final String OWN_CLASSES = "native/classes/";

    private final List<ClassNode> classes = new ArrayList<>();
    private Path jar;
    private Path ownClasses;

    @BeforeAll
    void readJar(@TempDir Path directory) throws IOException {
        jar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        ownClasses = directory;
        try (JarFile file = new JarFile(jar.toFile())) {
            List<JarEntry> entries = file.stream()
                    .filter(entry -> entry.getName().endsWith(".class"))
                    .toList();
            for (JarEntry entry : entries) {
                try (InputStream in = file.getInputStream(entry)) {
                    byte[] bytes = in.readAllBytes();
                    ClassNode type = new ClassNode();
                    new ClassReader(bytes).accept(type, ClassReader.SKIP_DEBUG);
                    classes.add(type);
                    if (entry.getName().startsWith(OWN_CLASSES)) {
                        Path target = directory.resolve(entry.getName().substring(OWN_CLASSES.length()));
                        Files.createDirectories(target.getParent());
                        Files.write(target, bytes);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldFindAllThatItRefersTo(Line line) throws Exception {
        Compatibility.record(line, Jdk.own(), "links", () -> {
            try (URLClassLoader loader = line.loader(jar, ownClasses)) {
                LinkCheck.Result result = LinkCheck.of(classes, loader);
                System.out.println(line + ": " + classes.size() + " classes, " + result.references() + " references");
                assertThat(result.references()).isGreaterThan(10_000);
                assertThat(result.problems())
                        .containsExactlyInAnyOrderElementsOf(ABSENCES.stream()
                                .filter(absence -> absence.lines().contains(line))
                                .map(Absence::problem)
                                .toList());
            }
        });
    }

    /** Static initialisers look up what has another signature on another line. */
    @ParameterizedTest
    @EnumSource
    void shouldFindWhatItLooksUpAtRunTime(Line line) throws Exception {
        String resolver = FROM_4_1.contains(line) ? "RdmaBlockResolver41" : "RdmaBlockResolver";
        Compatibility.record(line, Jdk.own(), "looks up", () -> {
            try (URLClassLoader loader = line.loader(jar)) {
                List<String> initialised = new ArrayList<>();
                for (String name :
                        List.of("io.verbena.shuffle.seam.SparkSeam", "org.apache.spark.shuffle.rdma." + resolver)) {
                    initialised.add(Class.forName(name, true, loader).getName());
                }
                assertThat(initialised).hasSize(2);
            }
        });
    }
}
