package io.verbena.lines;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A line of Spark that the plugin supports, with its jars. */
enum Line {
    SPARK_3_5_SCALA_2_12("3.5", "2.12", "spark-3.5-2.12", 17),
    SPARK_3_5_SCALA_2_13("3.5", "2.13", "spark-3.5-2.13", 17),
    SPARK_4_0("4.0", "2.13", "spark-4.0", 21),
    SPARK_4_1("4.1", "2.13", "spark-4.1", 21),
    SPARK_4_2("4.2", "2.13", "spark-4.2", 25);

    private static final List<Integer> JAVA_VERSIONS = List.of(17, 21, 25);

    private final String spark;
    private final String scala;
    private final String module;
    /** The last that Spark's documentation names. */
    private final int newestJava;

    Line(String spark, String scala, String module, int newestJava) {
        this.spark = spark;
        this.scala = scala;
        this.module = module;
        this.newestJava = newestJava;
    }

    String spark() {
        return spark;
    }

    String scala() {
        return scala;
    }

    boolean runsOn(Jdk jdk) {
        return javaVersions().contains(jdk.version());
    }

    /** Versions that Spark's documentation names and that our class files run on. */
    List<Integer> javaVersions() {
        return JAVA_VERSIONS.stream().filter(version -> version <= newestJava).toList();
    }

    boolean atLeast(Line other) {
        return compareTo(other) >= 0;
    }

    /** Spark and all that it needs, as Maven resolves it. */
    List<Path> jars() throws IOException {
        Path file = Path.of(System.getProperty("verbena.lines"), module, "target", "class-path.txt");
        return Stream.of(Files.readString(file).strip().split(File.pathSeparator, -1))
                .map(Path::of)
                .toList();
    }

    /** Loads the line's classes, after those of {@code first}; it shares the JDK's with this JVM, and nothing else. */
    URLClassLoader loader(Path... first) throws IOException {
        List<URL> urls = new ArrayList<>();
        for (Path path : Stream.concat(Stream.of(first), jars().stream()).toList()) {
            urls.add(path.toUri().toURL());
        }
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    /** The options that Spark's launcher gives JVMs on this line. */
    List<String> launcherOptions() throws IOException, ReflectiveOperationException {
        try (URLClassLoader loader = loader()) {
            String options = (String) loader.loadClass("org.apache.spark.launcher.JavaModuleOptions")
                    .getMethod("defaultModuleOptions")
                    .invoke(null);
            return List.of(options.split(" ", -1));
        }
    }

    @Override
    public String toString() {
        return "Spark " + spark + ", Scala " + scala;
    }
}
