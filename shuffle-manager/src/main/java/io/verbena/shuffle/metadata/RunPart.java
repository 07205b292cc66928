package io.verbena.shuffle.metadata;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * The slices of neighbouring partitions of one run, copied out of it, with the run's index beside them.
 *
 * <p>Ownership: a view of the caller's memory. Threads: confined to one thread (the checksum is scratch).
 */
public final class RunPart implements RunBlocks {
    private final RunIndex index;
    private final ByteBuffer data;
    private final long address;
    private final long firstOffset;
    private final CRC32C crc = new CRC32C();

    /**
     * Describes bytes that were read.
     *
     * @param startPartition the first partition
     * @param data direct buffer over exactly the slices, beginning with that partition's
     */
    public RunPart(RunIndex index, int startPartition, ByteBuffer data) {
        this.index = index;
        this.data = data;
        this.address = OffHeap.addressOf(data);
        this.firstOffset = index.sliceOffset(startPartition);
    }

    @Override
    public BlockLayout layout() {
        return index.layout();
    }

    @Override
    public long sliceAddress(int partition) {
        return address + index.sliceOffset(partition) - firstOffset;
    }

    @Override
    public long sliceLength(int partition) {
        return index.sliceLength(partition);
    }

    @Override
    public long rangeLength(int startPartition, int endPartition) {
        return index.rangeLength(startPartition, endPartition);
    }

    @Override
    public void verify(int partition) throws CorruptMetadataException {
        long length = index.sliceLength(partition);
        int actual = length == 0 ? 0 : RunHead.crcOf(crc, data, index.sliceOffset(partition) - firstOffset, length);
        RunHead.checkSlice(partition, length, actual, index.sliceCrc(partition));
    }
}
