package io.verbena.shuffle.resolver;

import io.verbena.shuffle.metadata.BlockFrame.ChecksumKind;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.pairs.PairTranscoder;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;
import java.util.zip.CheckedOutputStream;
import java.util.zip.Checksum;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleMapOutputWriter;
import org.apache.spark.storage.ShuffleBlockId;

/**
 * Map outputs as stock Spark shuffle files (index, data, checksums): what does not fit into memory, and what is evicted from it.
 * Spark's own components write and commit them, so decommissioning and the fallback storage handle them as usual.
 *
 * <p>Threads: any; one map output is written by one thread.
 */
public final class StockFiles {
    private final SparkConf conf;
    private final IndexShuffleBlockResolver resolver;
    private final SerializerManager serializers;
    private final boolean checksumEnabled;
    private final ChecksumKind checksumKind;
    private final String checksumAlgorithm;

    /** Creates the writer over Spark's resolver of this executor. */
    public StockFiles(SparkConf conf, IndexShuffleBlockResolver resolver, SerializerManager serializers) {
        this.conf = conf;
        this.resolver = resolver;
        this.serializers = serializers;
        this.checksumEnabled = conf.getBoolean("spark.shuffle.checksum.enabled", true);
        this.checksumAlgorithm =
                conf.get("spark.shuffle.checksum.algorithm", "ADLER32").toUpperCase(Locale.ROOT);
        this.checksumKind = checksumEnabled ? ChecksumKind.valueOf(checksumAlgorithm) : ChecksumKind.NONE;
    }

    /**
     * Writes a map output's runs as a stock file and commits it. Every slice is verified before it is copied.
     *
     * @param runs run images in order; the caller keeps them valid
     * @param transcoder for runs of layout PAIRS, else {@code null}
     * @return bytes of each partition in the file
     * @throws CorruptMetadataException if a slice fails its checksum; nothing is left behind
     */
    public long[] write(int shuffleId, long mapId, int partitions, List<RunImage> runs, PairTranscoder transcoder)
            throws IOException {
        PairTranscoder.Blocks pairs = transcoder == null ? null : transcoder.blocks();
        LocalDiskShuffleMapOutputWriter out =
                new LocalDiskShuffleMapOutputWriter(shuffleId, mapId, partitions, resolver, conf);
        try {
            long[] checksums = new long[checksumEnabled ? partitions : 0];
            for (int p = 0; p < partitions; p++) {
                // Asked for even when empty: the writer accounts for every partition in turn.
                ShufflePartitionWriter partition = out.getPartitionWriter(p);
                Checksum checksum = checksumKind.newChecksum();
                if (verified(runs, p)) {
                    try (OutputStream raw = partition.openStream()) {
                        OutputStream file = checksum == null ? raw : new CheckedOutputStream(raw, checksum);
                        copyBlock(new ShuffleBlockId(shuffleId, mapId, p), p, runs, pairs, file);
                    }
                }
                if (checksum != null) {
                    checksums[p] = checksum.getValue();
                }
            }
            return out.commitAllPartitions(checksums).getPartitionLengths();
        } catch (IOException | RuntimeException | Error e) {
            out.abort(e);
            throw e;
        }
    }

    /** Verifies a block's slices, the empty ones too; returns whether it has bytes. */
    private static boolean verified(List<RunImage> runs, int partition) throws CorruptMetadataException {
        boolean bytes = false;
        for (RunImage run : runs) {
            run.verify(partition);
            bytes |= run.sliceLength(partition) > 0;
        }
        return bytes;
    }

    /** Copies one block as one stream of Spark's: the inner format is the serializer's, wrapped as Spark's configuration asks. */
    private void copyBlock(
            ShuffleBlockId id, int partition, List<RunImage> runs, PairTranscoder.Blocks pairs, OutputStream file)
            throws IOException {
        boolean asIs = runs.get(0).layout() == BlockLayout.SPARK;
        try (OutputStream out = asIs ? file : serializers.wrapStream(id, file)) {
            byte[] scratch = new byte[1 << 16];
            for (RunImage run : runs) {
                if (run.sliceLength(partition) == 0) {
                    continue;
                }
                if (run.layout() == BlockLayout.PAIRS) {
                    pairs.write(run.slice(partition), out);
                    continue;
                }
                try (InputStream in = open(id, run, partition)) {
                    for (int n = in.read(scratch); n >= 0; n = in.read(scratch)) {
                        out.write(scratch, 0, n);
                    }
                }
            }
        }
    }

    private InputStream open(ShuffleBlockId id, RunImage run, int partition) throws IOException {
        ByteBuffer slice = run.slice(partition);
        return switch (run.layout()) {
            case RECORDS, SPARK -> new ByteBufferStream(slice);
            case ROWS -> new StockRowStream(slice);
            case ENCRYPTED -> serializers.wrapForEncryption(new ByteBufferStream(slice));
            case WRAPPED -> serializers.wrapStream(id, new ByteBufferStream(slice));
            case PAIRS -> throw new IllegalStateException("records of basic types are no stream");
        };
    }

    /**
     * Builds the frame that answers a request for a range of a map output's blocks.
     *
     * @throws IOException if the files cannot be read
     */
    FrameBuffer frame(int shuffleId, MapOutput.OnDisk output, int startReduceId, int endReduceId) throws IOException {
        long mapId = output.mapId();
        long[] offsets = readLongs(
                resolver.getIndexFile(shuffleId, mapId, scala.Option.empty()),
                startReduceId,
                endReduceId - startReduceId + 1);
        // Spark migrates index and data of a decommissioned executor, not the checksums.
        File sumFile = resolver.getChecksumFile(shuffleId, mapId, checksumAlgorithm, scala.Option.empty());
        boolean summed = checksumEnabled && sumFile.exists();
        long[] sums = summed
                ? readLongs(sumFile, startReduceId, endReduceId - startReduceId)
                : new long[endReduceId - startReduceId];
        File data = resolver.getDataFile(shuffleId, mapId);
        FrameBuffer.Builder frame =
                new FrameBuffer.Builder(BlockLayout.SPARK, summed ? checksumKind : ChecksumKind.NONE);
        for (int i = 0; i < endReduceId - startReduceId; i++) {
            long length = offsets[i + 1] - offsets[i];
            if (length > 0) {
                frame.add(startReduceId + i, sums[i], new FramePart.FileRange(data.toPath(), offsets[i], length));
            }
        }
        return frame.build(null);
    }

    /** The file with a map output's blocks. */
    Path dataFile(int shuffleId, long mapId) {
        return resolver.getDataFile(shuffleId, mapId).toPath();
    }

    /**
     * Makes the head that a run image with a file's blocks would have. Every block is verified, if the file has checksums.
     *
     * @param data all bytes of the file
     * @throws CorruptMetadataException if a block fails its checksum, or index and file do not fit
     * @throws IOException if the files cannot be read
     */
    ByteBuffer runHead(int shuffleId, MapOutput.OnDisk output, ByteBuffer data) throws IOException {
        int partitions = output.partitions();
        long[] starts =
                readLongs(resolver.getIndexFile(shuffleId, output.mapId(), scala.Option.empty()), 0, partitions + 1);
        File sumFile = resolver.getChecksumFile(shuffleId, output.mapId(), checksumAlgorithm, scala.Option.empty());
        long[] sums = checksumEnabled && sumFile.exists() ? readLongs(sumFile, 0, partitions) : null;
        int[] crcs = new int[partitions];
        CRC32C crc = new CRC32C();
        for (int p = 0; p < partitions; p++) {
            long length = starts[p + 1] - starts[p];
            if (starts[0] != 0 || length < 0 || starts[p + 1] > data.capacity()) {
                throw new CorruptMetadataException("index of a stock file does not fit it: shuffleId=" + shuffleId
                        + ", mapId=" + output.mapId() + ", partition=" + p + ", start=" + starts[p] + ", end="
                        + starts[p + 1] + ", fileBytes=" + data.capacity());
            }
            if (length > 0) {
                ByteBuffer block = data.slice((int) starts[p], (int) length);
                verify(shuffleId, output.mapId(), p, block, sums);
                crc.reset();
                crc.update(block.rewind());
                crcs[p] = (int) crc.getValue();
            }
        }
        return RunImage.head(output.mapId(), BlockLayout.SPARK, starts, crcs);
    }

    private void verify(int shuffleId, long mapId, int partition, ByteBuffer block, long[] sums)
            throws CorruptMetadataException {
        Checksum checksum = sums == null ? null : checksumKind.newChecksum();
        if (checksum != null) {
            checksum.update(block);
            if (checksum.getValue() != sums[partition]) {
                throw new CorruptMetadataException("block of a stock file fails its checksum: shuffleId=" + shuffleId
                        + ", mapId=" + mapId + ", partition=" + partition + ", algorithm=" + checksumKind + ", got=0x"
                        + Long.toHexString(checksum.getValue()) + ", expected=0x" + Long.toHexString(sums[partition]));
            }
        }
    }

    private static long[] readLongs(File file, int first, int count) throws IOException {
        long[] values = new long[count];
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            byte[] bytes = new byte[8 * count];
            in.seek(8L * first);
            in.readFully(bytes);
            ByteBuffer.wrap(bytes).asLongBuffer().get(values);
        }
        return values;
    }

    /** Returns a map output whose files are here although the store does not know it, {@code null} if there are none. */
    MapOutput.OnDisk find(int shuffleId, long mapId) {
        long bytes =
                resolver.getIndexFile(shuffleId, mapId, scala.Option.empty()).length();
        return bytes < 8
                ? null
                : new MapOutput.OnDisk(
                        mapId,
                        Math.toIntExact(bytes / 8 - 1),
                        resolver.getDataFile(shuffleId, mapId).length());
    }

    /** Removes the files of one map output. */
    public void remove(int shuffleId, long mapId) {
        resolver.removeDataByMap(shuffleId, mapId);
    }
}
