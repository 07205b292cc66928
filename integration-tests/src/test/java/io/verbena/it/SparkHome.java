package io.verbena.it;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * An installation of Spark for JVMs that a test starts: the jars that this JVM has, without anything of ours, and where to log.
 *
 * @param directory what SPARK_HOME names
 */
record SparkHome(Path directory) {
    private static final Pattern OURS = Pattern.compile("(verbena|rdma-buffers).*");

    /**
     * Links the jars into a new folder.
     *
     * @param without names of jars of this JVM's class path to leave out besides our own
     */
    static SparkHome install(Path directory, Pattern without) throws IOException {
        SparkHome home = new SparkHome(directory);
        Files.createDirectories(home.jars());
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path file = Path.of(entry).toAbsolutePath();
            String name = file.getFileName().toString();
            if (name.endsWith(".jar")
                    && !OURS.matcher(name).matches()
                    && !without.matcher(name).matches()) {
                Files.createSymbolicLink(home.jars().resolve(name), file);
            }
        }
        Files.createDirectory(home.conf());
        Files.writeString(home.conf().resolve("log4j2.properties"), """
                rootLogger.level = info
                rootLogger.appenderRef.stdout.ref = console
                appender.console.type = Console
                appender.console.name = console
                appender.console.target = SYSTEM_ERR
                appender.console.layout.type = PatternLayout
                appender.console.layout.pattern = %p %c{1}: %m%n%ex
                """);
        return home;
    }

    Path jars() {
        return directory.resolve("jars");
    }

    Path conf() {
        return directory.resolve("conf");
    }

    /** What Spark's scripts set for the JVMs that they start. */
    Map<String, String> environment() {
        return Map.of("SPARK_HOME", directory.toString(), "SPARK_SCALA_VERSION", System.getenv("SPARK_SCALA_VERSION"));
    }
}
