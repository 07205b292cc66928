package io.verbena.it.containers;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/** What a cluster for a test is made of: an installation of Spark, and the jar of an application as a user would bring it. */
final class SparkHome {
    private SparkHome() {}

    /** Makes an installation: links to the jars that this JVM has, without anything of ours, and where to log. */
    static void install(Path home) throws IOException {
        Path jars = Files.createDirectories(home.resolve("jars"));
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path file = Path.of(entry).toAbsolutePath();
            String name = file.getFileName().toString();
            if (name.endsWith(".jar") && !name.matches("(verbena|rdma-buffers).*")) {
                Files.createSymbolicLink(jars.resolve(name), file);
            }
        }
        Path conf = Files.createDirectory(home.resolve("conf"));
        Files.writeString(conf.resolve("log4j2.properties"), """
                rootLogger.level = info
                rootLogger.appenderRef.stdout.ref = console
                appender.console.type = Console
                appender.console.name = console
                appender.console.target = SYSTEM_ERR
                appender.console.layout.type = PatternLayout
                appender.console.layout.pattern = %p %c{1}: %m%n%ex
                """);
    }

    /** Makes a jar of these classes with the classes and lambdas inside them, nothing else. */
    static Path applicationJar(Path target, Class<?>... classes) throws IOException {
        try (OutputStream file = Files.newOutputStream(target);
                JarOutputStream out = new JarOutputStream(file)) {
            for (Class<?> outer : classes) {
                for (Class<?> each : List.of(outer.getNestMembers())) {
                    String name = each.getName().replace('.', '/') + ".class";
                    try (InputStream in = each.getClassLoader().getResourceAsStream(name)) {
                        out.putNextEntry(new JarEntry(name));
                        in.transferTo(out);
                        out.closeEntry();
                    }
                }
            }
        }
        return target;
    }
}
