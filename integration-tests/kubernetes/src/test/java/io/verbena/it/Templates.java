package io.verbena.it;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;

/** The files in {@code conf/} that users copy. */
final class Templates {
    private static final Path DIRECTORY = Path.of(System.getProperty("verbena.conf"));

    private Templates() {}

    static Path file(String name) {
        return DIRECTORY.resolve(name);
    }

    static String text(String name) throws IOException {
        return Files.readString(file(name));
    }

    /** Names of all files with an ending. */
    static List<String> names(String ending) throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(ending))
                    .sorted()
                    .toList();
        }
    }

    /** The settings of a file, as Spark reads it. */
    static SparkConf settings(String name) throws IOException {
        return parse(text(name));
    }

    /** Those that a user may switch on as well. */
    static SparkConf settingsWithComments(String name) throws IOException {
        return parse(text(name)
                .lines()
                .map(line -> line.startsWith("#spark.") ? line.substring(1) : line)
                .collect(Collectors.joining("\n")));
    }

    private static SparkConf parse(String text) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = new java.io.StringReader(text)) {
            properties.load(reader);
        }
        SparkConf conf = new SparkConf(false);
        properties
                .stringPropertyNames()
                .forEach(key -> conf.set(key, properties.getProperty(key).strip()));
        return conf;
    }
}
