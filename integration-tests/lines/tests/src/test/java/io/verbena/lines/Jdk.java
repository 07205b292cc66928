package io.verbena.lines;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A Java installation.
 *
 * @param version the feature release, for instance 17
 */
record Jdk(int version, Path home) {
    private static final String MORE = "VERBENA_JDKS";
    private static final Path SYSTEM = Path.of("/usr/lib/jvm");

    /** This JVM's own. */
    static Jdk own() {
        return new Jdk(Runtime.version().feature(), Path.of(System.getProperty("java.home")));
    }

    /** One of each version: this JVM's, those that the environment variable names, then those that the system has. */
    static Collection<Jdk> all() throws IOException {
        List<Path> homes = new ArrayList<>();
        Stream.of(System.getenv().getOrDefault(MORE, "").split(":", -1))
                .filter(home -> !home.isEmpty())
                .map(Path::of)
                .forEach(homes::add);
        if (Files.isDirectory(SYSTEM)) {
            try (Stream<Path> installed = Files.list(SYSTEM)) {
                installed.sorted().forEach(homes::add);
            }
        }
        Map<Integer, Jdk> byVersion = new TreeMap<>();
        byVersion.put(own().version(), own());
        for (Path home : homes) {
            if (Files.isExecutable(home.resolve("bin/java")) && Files.isReadable(home.resolve("release"))) {
                byVersion.computeIfAbsent(versionOf(home), version -> new Jdk(version, home));
            }
        }
        return byVersion.values();
    }

    private static int versionOf(Path home) throws IOException {
        Properties release = new Properties();
        try (Reader in = Files.newBufferedReader(home.resolve("release"))) {
            release.load(in);
        }
        return Runtime.Version.parse(release.getProperty("JAVA_VERSION").replace("\"", ""))
                .feature();
    }

    @Override
    public String toString() {
        return "JDK " + version;
    }
}
