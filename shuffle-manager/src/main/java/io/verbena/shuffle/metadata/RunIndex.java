package io.verbena.shuffle.metadata;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The index of a run, or some windows of it, without the run's data: where each slice lies in the image, and its checksum. On the
 * heap, 8.75 bytes per partition; immutable, so readers may share it.
 */
public final class RunIndex {
    private final BlockLayout layout;
    private final int firstPartition;
    private final long dataOffset;

    /** The windows as the image has them. */
    private final int[] words;

    private RunIndex(BlockLayout layout, IndexSpan span, int[] words) {
        this.layout = layout;
        this.firstPartition = span.startReduceId();
        this.dataOffset = RunImage.overhead(span.partitions());
        this.words = words;
    }

    /**
     * Copies and checks windows of an index.
     *
     * @param windows buffer over the span's bytes, or more
     * @param span which windows they are
     * @param imageLength bytes of the whole image, as its location says
     * @throws CorruptMetadataException if it is not that part of the run of that map output, or has changed
     */
    public static RunIndex copyOf(ByteBuffer windows, long mapId, IndexSpan span, long imageLength)
            throws CorruptMetadataException {
        ByteBuffer bytes = windows.duplicate().order(ByteOrder.nativeOrder()).clear();
        long dataLength = imageLength - RunImage.overhead(span.partitions());
        if (dataLength < 0 || bytes.capacity() < span.bytes()) {
            throw new CorruptMetadataException("run image is too short for its index: mapId=" + mapId + ", partitions="
                    + span.partitions() + ", imageBytes=" + imageLength + ", gotBytes=" + bytes.capacity()
                    + ", indexBytes=" + span.bytes());
        }
        BlockLayout layout = new IndexWindows(mapId, span.partitions(), dataLength).check(bytes, 0, span);
        int[] words = new int[span.bytes() / Integer.BYTES];
        bytes.clear().asIntBuffer().get(words);
        return new RunIndex(layout, span, words);
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
        return end(partition) - start(partition);
    }

    /** Bytes of the slices of {@code [startPartition, endPartition)}, which lie one behind the other. */
    public long rangeLength(int startPartition, int endPartition) {
        return startPartition == endPartition ? 0 : end(endPartition - 1) - start(startPartition);
    }

    /** CRC32C that the writer computed over a partition's slice. */
    public int sliceCrc(int partition) {
        return words[IndexWindows.sumWord(partition - firstPartition)];
    }

    private long start(int partition) {
        return words[IndexWindows.startWord(partition - firstPartition)] & 0xffffffffL;
    }

    private long end(int partition) {
        return words[IndexWindows.startWord(partition - firstPartition) + 1] & 0xffffffffL;
    }
}
