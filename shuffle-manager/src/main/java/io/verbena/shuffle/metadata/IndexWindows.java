package io.verbena.shuffle.metadata;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The index of one run, in windows of {@link #PARTITIONS} partitions. Each is checked by itself, so that a reader that wants a few
 * partitions of many runs reads a window of each: 10,000 indexes of 10,000 partitions are 875 MB, a window of each is 1.4 MB.
 *
 * <pre>
 *     0 layout u32
 *     4 start of each slice, from the data's start, and end of the last: 17 x u32
 *    72 CRC32C of each slice: 16 x u32
 *   136 CRC32C u32 of: map id i64, data length i64, partitions u32, first partition u32, bytes 0..135
 * </pre>
 *
 * <p>Native byte order. The last window is full too: slices beyond the last partition are empty. 8.75 bytes per partition.
 *
 * <p>Threads: confined to one thread, it has scratch.
 */
final class IndexWindows {
    /** A reduce task wants one partition, or neighbours: fewer to a window cost more per partition, more are read in vain. */
    static final int PARTITIONS = 16;

    private static final int STARTS = 1;
    private static final int SUMS = STARTS + PARTITIONS + 1;
    private static final int CRC = SUMS + PARTITIONS;
    private static final int WORDS = CRC + 1;

    /** Bytes of a window. */
    static final int BYTES = 4 * WORDS;

    private static final int FIRST_PARTITION = 20;

    private final int partitions;
    private final long dataLength;
    private final ByteBuffer identity = ByteBuffer.allocate(FIRST_PARTITION + 4).order(ByteOrder.nativeOrder());
    private final CRC32C crc = new CRC32C();

    IndexWindows(long mapId, int partitions, long dataLength) {
        this.partitions = partitions;
        this.dataLength = dataLength;
        identity.putLong(0, mapId).putLong(8, dataLength).putInt(16, partitions);
    }

    /** Number of windows of that many partitions. */
    static int count(int partitions) {
        return (partitions + PARTITIONS - 1) / PARTITIONS;
    }

    /**
     * Word in which a slice's start is; in the next one is its end.
     *
     * @param partition counted from the first one of the first window
     */
    static int startWord(int partition) {
        return partition / PARTITIONS * WORDS + STARTS + partition % PARTITIONS;
    }

    /** Word in which a slice's CRC32C is. */
    static int sumWord(int partition) {
        return partition / PARTITIONS * WORDS + SUMS + partition % PARTITIONS;
    }

    /**
     * Writes all windows.
     *
     * @param image direct buffer over the image's head at least
     * @param at where the first window begins
     */
    void write(ByteBuffer image, int at, BlockLayout layout, long[] starts, int[] sums) {
        ByteBuffer view = image.duplicate().clear();
        long address = OffHeap.addressOf(image) + at;
        for (int first = 0; first < partitions; first += PARTITIONS) {
            OffHeap.putInt(address, layout.code());
            for (int i = 0; i <= PARTITIONS; i++) {
                OffHeap.putInt(address + 4L * (STARTS + i), (int) starts[Math.min(first + i, partitions)]);
            }
            for (int i = 0; i < PARTITIONS; i++) {
                OffHeap.putInt(address + 4L * (SUMS + i), first + i < partitions ? sums[first + i] : 0);
            }
            OffHeap.putInt(address + 4 * CRC, crcOf(view, at, first));
            at += BYTES;
            address += BYTES;
        }
    }

    /**
     * Checks windows.
     *
     * @param bytes in native order; position and limit are scratch
     * @param at where the span's first window begins
     * @throws CorruptMetadataException if they are not these windows of this run, whole and unchanged
     */
    BlockLayout check(ByteBuffer bytes, int at, IndexSpan span) throws CorruptMetadataException {
        int layout = bytes.getInt(at);
        long previous = 0;
        for (int w = span.firstWindow(); w < span.endWindow(); w++) {
            int first = w * PARTITIONS;
            require("crc32c", first, crcOf(bytes, at, first), bytes.getInt(at + 4 * CRC));
            require("layout", first, bytes.getInt(at), layout);
            if (w > span.firstWindow()) {
                require("start", first, bytes.getInt(at + 4 * STARTS) & 0xffffffffL, previous);
            }
            for (int i = 0; i <= PARTITIONS; i++) {
                long start = bytes.getInt(at + 4 * (STARTS + i)) & 0xffffffffL;
                if (start < previous || start > dataLength) {
                    throw new CorruptMetadataException("run index is not ascending: partition=" + (first + i)
                            + ", start=" + start + ", previous=" + previous + ", dataBytes=" + dataLength);
                }
                previous = start;
            }
            at += BYTES;
        }
        return BlockLayout.ofCode(layout);
    }

    private int crcOf(ByteBuffer bytes, int at, int firstPartition) {
        crc.reset();
        crc.update(identity.putInt(FIRST_PARTITION, firstPartition).array());
        crc.update(bytes.limit(at + 4 * CRC).position(at));
        bytes.clear();
        return (int) crc.getValue();
    }

    private static void require(String what, int firstPartition, long got, long expected)
            throws CorruptMetadataException {
        if (got != expected) {
            throw new CorruptMetadataException(
                    "run index has a wrong " + what + ", or is another run's: firstPartition=" + firstPartition
                            + ", got=" + got + ", expected=" + expected);
        }
    }
}
