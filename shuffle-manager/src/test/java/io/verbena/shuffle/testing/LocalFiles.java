package io.verbena.shuffle.testing;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import scala.Option;

/** Spark's resolver of stock shuffle files over one plain folder, so that it needs no SparkEnv. */
public final class LocalFiles extends IndexShuffleBlockResolver {
    private final Path folder;

    /** Keeps the files in a folder that exists. */
    public LocalFiles(SparkConf conf, Path folder) {
        super(conf, null, new ConcurrentHashMap<>());
        this.folder = folder;
    }

    @Override
    public File getDataFile(int shuffleId, long mapId, Option<String[]> dirs) {
        return file(new ShuffleDataBlockId(shuffleId, mapId, 0).name());
    }

    @Override
    public File getIndexFile(int shuffleId, long mapId, Option<String[]> dirs) {
        return file(new ShuffleIndexBlockId(shuffleId, mapId, 0).name());
    }

    @Override
    public File getChecksumFile(int shuffleId, long mapId, String algorithm, Option<String[]> dirs) {
        return file("shuffle_" + shuffleId + "_" + mapId + "_0.checksum." + algorithm);
    }

    @Override
    public File createTempFile(File file) {
        return file(file.getName() + "." + UUID.randomUUID());
    }

    private File file(String name) {
        return folder.resolve(name).toFile();
    }

    /** Names of all files there are, temporary ones too. */
    public List<String> names() {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
