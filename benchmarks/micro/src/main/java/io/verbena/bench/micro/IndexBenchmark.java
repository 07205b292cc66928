package io.verbena.bench.micro;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metadata.RunIndex;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.commons.io.file.PathUtils;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.ShuffleBlockId;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import scala.Option;

/** Where a block lies: one look-up of a random partition's slice, in one after the other of 64 map outputs' indexes. */
@Per("look-up")
public class IndexBenchmark extends Defaults {
    private static final int RUNS = 64;
    private static final int LOOK_UPS = 1 << 16;
    private static final int SHUFFLE = 1;

    /** Indexes of the same map outputs, in every form. */
    @State(Scope.Thread)
    public static class Indexes {
        /** Above 512, readers fetch windows of an index, not all of it. */
        @Param({"200", "2000", "10000"})
        public int reducers;

        private final RunImage[] images = new RunImage[RUNS];
        private final ByteBuffer[] bytes = new ByteBuffer[RUNS];
        private final RunIndex[] indexes = new RunIndex[RUNS];
        private final long[][] starts = new long[RUNS][];
        private final int[] partitions = new int[LOOK_UPS];
        private int next;

        /** Makes runs of blocks of up to 100 bytes. */
        @Setup
        public void make() throws CorruptMetadataException {
            Random random = new Random(5);
            for (int run = 0; run < RUNS; run++) {
                long[] ends = new long[reducers + 1];
                for (int p = 0; p < reducers; p++) {
                    ends[p + 1] = ends[p] + random.nextInt(100);
                }
                starts[run] = ends;
                bytes[run] = ByteBuffer.allocateDirect((int) (RunImage.overhead(reducers) + ends[reducers]));
                images[run] = RunImage.seal(bytes[run], run, BlockLayout.ROWS, ends);
                indexes[run] = index(run, IndexSpan.whole(reducers));
            }
            for (int i = 0; i < LOOK_UPS; i++) {
                partitions[i] = random.nextInt(reducers);
            }
            for (int i = 0; i < LOOK_UPS; i++) {
                int run = i % RUNS;
                int p = partitions[i];
                long length = starts[run][p + 1] - starts[run][p];
                Checks.require("length in the image", images[run].sliceLength(p), length);
                Checks.require("length in the index", indexes[run].sliceLength(p), length);
                Checks.require("offset in the index", indexes[run].sliceOffset(p), images[run].sliceOffset(p));
                Checks.require("checksum in the index", indexes[run].sliceCrc(p), images[run].sliceCrc(p));
            }
        }

        private RunIndex index(int run, IndexSpan span) throws CorruptMetadataException {
            ByteBuffer image = bytes[run];
            ByteBuffer part = image.clear().slice(span.offset(), span.bytes());
            return RunIndex.copyOf(part, run, span, image.capacity());
        }

        private int turn() {
            next = (next + 1) % LOOK_UPS;
            return next;
        }
    }

    /** Spark's index files of the same map outputs. */
    @State(Scope.Thread)
    public static class Files64 {
        private Path folder;
        private IndexShuffleBlockResolver resolver;

        /** Writes them. */
        @Setup
        public void write(Indexes indexes) throws IOException {
            folder = Files.createTempDirectory("verbena-micro");
            resolver = new FolderResolver(folder);
            for (int run = 0; run < RUNS; run++) {
                try (DataOutputStream out = new DataOutputStream(new java.io.BufferedOutputStream(Files.newOutputStream(
                        resolver.getIndexFile(SHUFFLE, run, Option.empty()).toPath())))) {
                    for (long start : indexes.starts[run]) {
                        out.writeLong(start);
                    }
                }
            }
        }

        /** Removes them. */
        @TearDown
        public void remove() throws IOException {
            PathUtils.deleteDirectory(folder);
        }
    }

    private static final class FolderResolver extends IndexShuffleBlockResolver {
        private final Path folder;

        FolderResolver(Path folder) {
            super(new SparkConf(false), null, new ConcurrentHashMap<>());
            this.folder = folder;
        }

        @Override
        public File getDataFile(int shuffleId, long mapId, Option<String[]> dirs) {
            return folder.resolve(mapId + ".data").toFile();
        }

        @Override
        public File getIndexFile(int shuffleId, long mapId, Option<String[]> dirs) {
            return folder.resolve(mapId + ".index").toFile();
        }
    }

    /** In an image in memory: this executor's own map outputs, and neighbours' that are mapped. */
    @Benchmark
    public long image(Indexes indexes) {
        int turn = indexes.turn();
        RunImage image = indexes.images[turn % RUNS];
        int partition = indexes.partitions[turn];
        return image.sliceOffset(partition) + image.sliceLength(partition) + image.sliceCrc(partition);
    }

    /** In an index that was read from a peer before. */
    @Benchmark
    public long index(Indexes indexes) {
        int turn = indexes.turn();
        RunIndex index = indexes.indexes[turn % RUNS];
        int partition = indexes.partitions[turn];
        return index.sliceOffset(partition) + index.sliceLength(partition) + index.sliceCrc(partition);
    }

    /** The first look-up of a reduce task in bytes that have come from a peer: windows, or all of a small index, are checked. */
    @Benchmark
    public long firstInIndex(Indexes indexes) throws CorruptMetadataException {
        int turn = indexes.turn();
        int partition = indexes.partitions[turn];
        RunIndex index = indexes.index(turn % RUNS, IndexSpan.of(partition, partition + 1, indexes.reducers));
        return index.sliceOffset(partition) + index.sliceLength(partition) + index.sliceCrc(partition);
    }

    /** The first look-up of a process in an image of its own: all of the index is checked. */
    @Benchmark
    public long firstInImage(Indexes indexes) throws CorruptMetadataException {
        int turn = indexes.turn();
        int run = turn % RUNS;
        int partition = indexes.partitions[turn];
        RunImage image = RunImage.open(indexes.bytes[run], run, indexes.reducers);
        return image.sliceOffset(partition) + image.sliceLength(partition) + image.sliceCrc(partition);
    }

    /** Spark's, which opens the index file each time; it finds offset and length. */
    @Benchmark
    public long spark(Indexes indexes, Files64 files) {
        int turn = indexes.turn();
        int run = turn % RUNS;
        int partition = indexes.partitions[turn];
        ManagedBuffer block = files.resolver.getBlockData(new ShuffleBlockId(SHUFFLE, run, partition), Option.empty());
        Checks.require("length", block.size(), indexes.starts[run][partition + 1] - indexes.starts[run][partition]);
        return block.size();
    }

    /** In an array of offsets: memory alone. */
    @Benchmark
    public long arrayBaseline(Indexes indexes) {
        int turn = indexes.turn();
        long[] starts = indexes.starts[turn % RUNS];
        int partition = indexes.partitions[turn];
        return starts[partition] + starts[partition + 1];
    }
}
