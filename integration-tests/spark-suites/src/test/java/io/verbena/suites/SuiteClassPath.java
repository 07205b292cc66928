package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;

/**
 * What suites are run with: of ours only the jar that users get, as it is.
 *
 * @param jars without any folder, as the JVM wants it for an archive of classes, which serves all class paths that begin with it
 * @param folders with the settings of logging and the suites' data, to come after the jars
 */
record SuiteClassPath(String jars, String folders) {
    /**
     * Makes it from this JVM's own.
     *
     * @param directory for Spark's test jars in parts
     */
    static SuiteClassPath in(Path directory) throws IOException {
        Path shadedJar = Path.of(System.getProperty("verbena.shadedJar")).toAbsolutePath();
        assertThat(shadedJar).as("made by the package phase of shuffle-manager").isRegularFile();
        Path classes = Files.createDirectories(directory.resolve("classes"));
        Path resources = Files.createDirectories(directory.resolve("resources"));
        List<String> jars = new ArrayList<>(List.of(shadedJar.toString()));
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path file = Path.of(entry).toAbsolutePath();
            String name = file.getFileName().toString();
            if (name.matches("spark-.*-tests\\.jar")) {
                Path onlyClasses = classes.resolve(name);
                split(file, onlyClasses, resources);
                jars.add(onlyClasses.toString());
            } else if (name.endsWith(".jar") && !name.matches("(verbena|rdma-buffers).*")) {
                jars.add(file.toString());
            }
        }
        Path settings = Path.of("src", "test", "spark-conf").toAbsolutePath();
        return new SuiteClassPath(String.join(File.pathSeparator, jars), settings + File.pathSeparator + resources);
    }

    /** Suites open their data as files, so it may not stay in the jar. */
    private static void split(Path jar, Path classes, Path resources) throws IOException {
        try (JarFile file = new JarFile(jar.toFile());
                JarOutputStream out = new JarOutputStream(Files.newOutputStream(classes))) {
            for (JarEntry entry : (Iterable<JarEntry>) file.stream()::iterator) {
                if (entry.isDirectory()) {
                    continue;
                }
                try (InputStream in = file.getInputStream(entry)) {
                    if (entry.getName().endsWith(".class") || entry.getName().startsWith("META-INF/")) {
                        out.putNextEntry(new JarEntry(entry.getName()));
                        in.transferTo(out);
                        continue;
                    }
                    Path path = resources.resolve(entry.getName()).normalize();
                    if (!path.startsWith(resources)) {
                        throw new IOException("entry leaves its folder: jar=" + jar + ", entry=" + entry.getName());
                    }
                    Files.createDirectories(path.getParent());
                    Files.write(path, in.readAllBytes());
                }
            }
        }
    }

    String all() {
        return jars + File.pathSeparator + folders;
    }
}
