package io.verbena.shuffle.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.registration.MrCache;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.resolver.BlockServer;
import io.verbena.shuffle.resolver.Evictor;
import io.verbena.shuffle.resolver.MapOutputStore;
import io.verbena.shuffle.resolver.PinnedFiles;
import io.verbena.shuffle.resolver.StockFiles;
import io.verbena.shuffle.writer.StagingPool;
import io.verbena.shuffle.writer.WriterResources;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.DiskBlockManager;
import scala.Option;

/** An executor without Spark around it: memory, store, stock files and what serves them. Closing it asserts that all is given back. */
public final class TestExecutor implements AutoCloseable {
    private final BlockManagerId id;
    private final Path scratch;
    private final TestMemory memory;
    private final LocalFiles local;
    private final StockFiles files;
    private final SerializerManager serializers;
    private final ShuffleCounters counters = new ShuffleCounters();
    private BlockServer server;
    private MrCache fileCache;
    private PinnedFiles pins;
    private final WriterResources writers;

    /**
     * Creates an executor that never evicts.
     *
     * @param key encrypts if it is not {@code null}
     */
    public TestExecutor(
            String name,
            Path folder,
            long segmentBytes,
            int segments,
            int stagingBytes,
            boolean compressInMemory,
            byte[] key) {
        try {
            Path stock = Files.createDirectories(folder.resolve(name + "-stock"));
            scratch = Files.createDirectories(folder.resolve(name + "-scratch"));
            SparkConf conf = new SparkConf(false).set("spark.local.dir", scratch.toString());
            id = BlockManagerId.apply(name, "host-" + name, 7000 + name.hashCode() % 1000, Option.empty());
            memory = new TestMemory(segmentBytes, segments);
            local = new LocalFiles(conf, stock);
            serializers = new SerializerManager(new KryoSerializer(conf), conf, Option.apply(key));
            files = new StockFiles(conf, local, serializers);
            server = new BlockServer(memory.store(), files, memory.transport(), counters, null);
            Evictor evictor =
                    new Evictor(memory.arena(), memory.store(), files, counters, ForkJoinPool.commonPool(), 1.0);
            writers = new WriterResources(
                    memory.arena(),
                    segmentBytes,
                    memory.store(),
                    files,
                    evictor,
                    new StagingPool(stagingBytes),
                    new DiskBlockManager(conf, true, false),
                    serializers,
                    compressInMemory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Lets peers have files of at least that many bytes registered, as long as there is room; once or instead of before. */
    public void pinFiles(long smallestBytes, long budgetBytes) {
        endPins();
        fileCache = new MrCache(new TestFileRegistrar(), budgetBytes);
        memory.serve(fileCache::regions);
        pins = new PinnedFiles(fileCache, files, memory.transport(), counters, smallestBytes);
        server = new BlockServer(memory.store(), files, memory.transport(), counters, pins);
    }

    private void endPins() {
        if (pins != null) {
            pins.close();
            fileCache.close();
            assertThat(fileCache.regions()).isEmpty();
        }
    }

    /** Registered files, after {@link #pinFiles}. */
    public MrCache fileCache() {
        return fileCache;
    }

    /** Files that peers read, after {@link #pinFiles}. */
    public PinnedFiles pins() {
        return pins;
    }

    /** Where other executors find it. */
    public BlockManagerId id() {
        return id;
    }

    /** Its registered memory. */
    public TestMemory memory() {
        return memory;
    }

    /** Its map outputs. */
    public MapOutputStore store() {
        return memory.store();
    }

    /** Its folder of stock shuffle files, through Spark's own resolver. */
    public LocalFiles local() {
        return local;
    }

    /** Writes and frames stock files. */
    public StockFiles files() {
        return files;
    }

    /** Compression and encryption. */
    public SerializerManager serializers() {
        return serializers;
    }

    /** What it counted. */
    public ShuffleCounters counters() {
        return counters;
    }

    /** Answers reserved ids. */
    public BlockServer server() {
        return server;
    }

    /** What its map tasks use. */
    public WriterResources writers() {
        return writers;
    }

    /** Names of the temporary files that tasks have now. */
    public List<String> scratchFiles() {
        try (Stream<Path> all = Files.walk(scratch)) {
            return all.filter(Files::isRegularFile).map(Path::toString).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        assertThat(scratchFiles()).isEmpty();
        for (int shuffleId : memory.store().shuffleIds()) {
            memory.store().remove(shuffleId).forEach(mapId -> files.remove(shuffleId, mapId));
        }
        assertThat(local.names()).isEmpty();
        endPins();
        memory.close();
    }
}
