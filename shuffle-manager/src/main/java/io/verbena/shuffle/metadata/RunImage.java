package io.verbena.shuffle.metadata;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * One run of a map output as it lies in memory: blocks of all reduce partitions, in order, behind their index. A map output is
 * one run or several; the blocks of one partition are the slices of all its runs, in run order.
 *
 * <pre>
 *    0 magic u32 | 4 version u16, layout u16 | 8 map id i64 | 16 partitions u32 | 20 CRC32C of the header u32, computed with 0 here
 *   24 data offset u32 | 28 zero u32 | 32 data length i64 | 40..63 zero
 *   64 index: windows of 16 partitions, 140 bytes each, see {@link IndexWindows}
 *   data offset (a multiple of 64): data
 * </pre>
 *
 * <p>Native byte order: UnsafeRow has it too, so a cluster of mixed byte orders never worked. A run is shorter than 2 GiB, hence
 * four-byte entries: 8.75 bytes of index per block.
 *
 * <p>Ownership: a view; whoever holds the lease on the memory keeps it valid. Threads: confined to one thread (the checksum and
 * the buffer's position are scratch); {@link #view} makes one for another thread.
 */
public final class RunImage implements RunBlocks {
    private static final int ALIGNMENT = 64;

    private final long address;
    private final ByteBuffer bytes;
    private final CRC32C crc = new CRC32C();
    private final BlockLayout layout;
    private final int partitions;
    private final long dataOffset;
    private final long dataLength;

    private RunImage(ByteBuffer bytes, BlockLayout layout, int partitions, long dataOffset, long dataLength) {
        this.address = OffHeap.addressOf(bytes);
        this.bytes = bytes.duplicate().order(ByteOrder.nativeOrder());
        this.layout = layout;
        this.partitions = partitions;
        this.dataOffset = dataOffset;
        this.dataLength = dataLength;
    }

    /** Bytes that precede the data of a run with that many partitions. */
    public static long overhead(int partitions) {
        long index = (long) IndexWindows.count(partitions) * IndexWindows.BYTES;
        return (RunHead.BYTES + index + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /**
     * Writes header and index once the data is in place. The caller is the only writer of the memory.
     *
     * @param image direct buffer over exactly the run image, {@link #overhead} plus the data
     * @param starts start of each slice from the data's start, and the data's length as the last entry
     * @return the image, open
     */
    public static RunImage seal(ByteBuffer image, long mapId, BlockLayout layout, long[] starts) {
        int partitions = starts.length - 1;
        long dataOffset = overhead(partitions);
        long dataLength = starts[partitions];
        if (dataOffset + dataLength != image.capacity()) {
            throw new IllegalArgumentException("run image has a wrong size: capacityBytes=" + image.capacity()
                    + ", indexBytes=" + dataOffset + ", dataBytes=" + dataLength);
        }
        CRC32C crc = new CRC32C();
        ByteBuffer view = image.duplicate();
        int[] sums = new int[partitions];
        for (int p = 0; p < partitions; p++) {
            long length = starts[p + 1] - starts[p];
            sums[p] = length == 0 ? 0 : RunHead.crcOf(crc, view, dataOffset + starts[p], length);
        }
        RunHead.write(image, mapId, layout, starts, sums);
        return new RunImage(image, layout, partitions, dataOffset, dataLength);
    }

    /**
     * Makes the head that an image would have whose data lies elsewhere.
     *
     * @param starts start of each slice from the data's start, and the data's length as the last entry, below 4 GiB
     * @param sums CRC32C of each slice, 0 for an empty one
     * @return direct buffer of {@link #overhead} bytes
     */
    public static ByteBuffer head(long mapId, BlockLayout layout, long[] starts, int[] sums) {
        ByteBuffer head = ByteBuffer.allocateDirect((int) overhead(sums.length)).order(ByteOrder.nativeOrder());
        RunHead.write(head, mapId, layout, starts, sums);
        return head;
    }

    /** The same image for another thread, with its own scratch; nothing is checked again. */
    public RunImage view() {
        return new RunImage(bytes, layout, partitions, dataOffset, dataLength);
    }

    /**
     * Opens a run image and checks its header and index.
     *
     * @param image direct buffer over exactly the run image
     * @throws CorruptMetadataException if it is not the run of that map output with that many partitions, whole and unchanged
     */
    public static RunImage open(ByteBuffer image, long mapId, int partitions) throws CorruptMetadataException {
        ByteBuffer bytes = image.duplicate().order(ByteOrder.nativeOrder()).clear();
        BlockLayout layout = RunHead.check(bytes, mapId, partitions, bytes.capacity());
        long dataOffset = overhead(partitions);
        return new RunImage(bytes, layout, partitions, dataOffset, bytes.capacity() - dataOffset);
    }

    private long start(int partition) {
        return word(IndexWindows.startWord(partition)) & 0xffffffffL;
    }

    private long end(int partition) {
        return word(IndexWindows.startWord(partition) + 1) & 0xffffffffL;
    }

    private int word(int at) {
        return OffHeap.getInt(address + RunHead.BYTES + 4L * at);
    }

    @Override
    public BlockLayout layout() {
        return layout;
    }

    /** Number of reduce partitions. */
    public int partitions() {
        return partitions;
    }

    /** Offset of a partition's slice from the image's start, in bytes. */
    public long sliceOffset(int partition) {
        return dataOffset + start(partition);
    }

    @Override
    public long sliceAddress(int partition) {
        return address + sliceOffset(partition);
    }

    @Override
    public long sliceLength(int partition) {
        return end(partition) - start(partition);
    }

    @Override
    public long rangeLength(int startPartition, int endPartition) {
        return startPartition == endPartition ? 0 : end(endPartition - 1) - start(startPartition);
    }

    /** CRC32C that the writer computed over a partition's slice. */
    public int sliceCrc(int partition) {
        return word(IndexWindows.sumWord(partition));
    }

    /** A buffer over a partition's slice; valid as long as the image. */
    public ByteBuffer slice(int partition) {
        return bytes.clear().slice((int) sliceOffset(partition), (int) sliceLength(partition));
    }

    /** A buffer over the whole image, for use by absolute positions. */
    public ByteBuffer whole() {
        return bytes.duplicate().clear();
    }

    /**
     * Compares a slice with its checksum. The index is compared too, as far as this slice needs it: it was checked when the image
     * was opened, which may be long ago, and a start that has changed since could make the slice look empty.
     *
     * @throws CorruptMetadataException if it differs
     */
    @Override
    public void verify(int partition) throws CorruptMetadataException {
        long start = start(partition);
        long length = end(partition) - start;
        if (length < 0 || start + length > dataLength) {
            throw new CorruptMetadataException("run index has changed since it was opened: partition=" + partition
                    + ", start=" + start + ", lengthBytes=" + length + ", dataBytes=" + dataLength);
        }
        int actual = length == 0 ? 0 : RunHead.crcOf(crc, bytes, dataOffset + start, length);
        RunHead.checkSlice(partition, length, actual, sliceCrc(partition));
    }
}
