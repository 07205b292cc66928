package io.verbena.shuffle.metadata;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The index of a run without its data: where each slice lies in the image, and its checksum. On the heap, eight bytes per
 * partition; immutable, so all readers of an executor share it.
 */
public final class RunIndex {
    private final BlockLayout layout;
    private final int partitions;
    private final long dataOffset;

    /** Starts of the slices and the end of the last, then the checksums, as the image has them. */
    private final int[] words;

    private RunIndex(BlockLayout layout, int partitions, int[] words) {
        this.layout = layout;
        this.partitions = partitions;
        this.dataOffset = RunImage.overhead(partitions);
        this.words = words;
    }

    /**
     * Copies and checks the head of a run image.
     *
     * @param head buffer over the first {@link RunImage#overhead} bytes of the image or more
     * @param imageLength bytes of the whole image, as its location says
     * @throws CorruptMetadataException if it is not the run of that map output with that many partitions, or has changed
     */
    public static RunIndex copyOf(ByteBuffer head, long mapId, int partitions, long imageLength)
            throws CorruptMetadataException {
        ByteBuffer bytes = head.duplicate().order(ByteOrder.nativeOrder()).clear();
        BlockLayout layout = RunHead.check(bytes, mapId, partitions, imageLength);
        int[] words = new int[2 * partitions + 1];
        bytes.clear().position(RunHead.BYTES);
        bytes.asIntBuffer().get(words);
        return new RunIndex(layout, partitions, words);
    }

    /** How the slices are encoded. */
    public BlockLayout layout() {
        return layout;
    }

    /** Offset of a partition's slice from the image's start, in bytes. */
    public long sliceOffset(int partition) {
        return dataOffset + start(partition);
    }

    /** Length of a partition's slice in bytes, 0 when it is empty. */
    public long sliceLength(int partition) {
        return start(partition + 1) - start(partition);
    }

    /** Bytes of the slices of {@code [startPartition, endPartition)}, which lie one behind the other. */
    public long rangeLength(int startPartition, int endPartition) {
        return start(endPartition) - start(startPartition);
    }

    /** CRC32C that the writer computed over a partition's slice. */
    public int sliceCrc(int partition) {
        return words[partitions + 1 + partition];
    }

    private long start(int partition) {
        return words[partition] & 0xffffffffL;
    }
}
