package io.verbena.lines;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
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
    /** This JVM's own. */
    static Jdk own() {
        return new Jdk(Runtime.version().feature(), Path.of(System.getProperty("java.home")));
    }

    /** One of each version: this JVM's own, and those that are installed beside it. */
    static List<Jdk> all() throws IOException {
        List<Path> homes;
        try (Stream<Path> siblings = Files.list(own().home().toRealPath().getParent())) {
            homes = siblings.sorted().toList();
        }
        Map<Integer, Jdk> byVersion = new TreeMap<>();
        byVersion.put(own().version(), own());
        for (Path home : homes) {
            if (Files.isExecutable(home.resolve("bin/java")) && Files.isReadable(home.resolve("release"))) {
                byVersion.computeIfAbsent(versionOf(home), version -> new Jdk(version, home));
            }
        }
        return List.copyOf(byVersion.values());
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
