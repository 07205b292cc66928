package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.RunBlocks;
import java.util.List;
import java.util.function.Consumer;

/**
 * Blocks decoded where they lie: in this executor's memory, a neighbour's, or where they were copied to. All are verified when the
 * source is opened, before one row is handed out, so that a damaged map output can still be fetched whole another way.
 *
 * <p>Ownership: what keeps the memory is the reader's, who is told of the end.
 */
final class RunSource implements BlockSource {
    private final MapRef ref;
    private final List<? extends RunBlocks> runs;
    private final Consumer<BlockLayout> onClose;
    private final BlockLayout layout;
    private final long bytes;
    private boolean begun;
    private boolean closed;
    private int run;
    private int partition;

    /**
     * Opens and verifies blocks whose memory outlives the source.
     *
     * @throws CorruptMetadataException if a block fails its checksum
     */
    RunSource(MapRef ref, List<? extends RunBlocks> runs) throws CorruptMetadataException {
        this(ref, runs, layout -> {});
    }

    /**
     * Opens and verifies.
     *
     * @param onClose told once that the memory is not read any more, with the layout if anything was handed out, else {@code null}
     * @throws CorruptMetadataException if a block fails its checksum; the caller keeps the memory then
     */
    RunSource(MapRef ref, List<? extends RunBlocks> runs, Consumer<BlockLayout> onClose)
            throws CorruptMetadataException {
        this.ref = ref;
        this.runs = runs;
        this.onClose = onClose;
        // An output without records has no run; its layout does not matter.
        this.layout = runs.isEmpty() ? BlockLayout.RECORDS : runs.get(0).layout();
        this.partition = ref.startReduceId();
        long total = 0;
        for (RunBlocks image : runs) {
            long range = image.rangeLength(ref.startReduceId(), ref.endReduceId());
            total += range;
            // Empty blocks too: that they are empty is compared with the index the writer sealed.
            for (int p = ref.startReduceId(); p < ref.endReduceId(); p++) {
                image.verify(p);
            }
        }
        this.bytes = total;
    }

    /** Bytes of all blocks. */
    long bytes() {
        return bytes;
    }

    @Override
    public MapRef ref() {
        return ref;
    }

    @Override
    public BlockLayout layout() {
        return layout;
    }

    @Override
    public Slice next() {
        begun = true;
        return layout.isPlain() ? nextRange() : nextSlice();
    }

    /** Plain slices of neighbouring partitions lie back to back and decode as one. */
    private Slice nextRange() {
        while (run < runs.size()) {
            RunBlocks image = runs.get(run++);
            long length = image.rangeLength(ref.startReduceId(), ref.endReduceId());
            if (length > 0) {
                return new Slice(null, image.sliceAddress(ref.startReduceId()), length, ref.startReduceId(), null);
            }
        }
        return null;
    }

    /** Encoded slices go partition by partition, and within one in run order. */
    private Slice nextSlice() {
        while (partition < ref.endReduceId()) {
            while (run < runs.size()) {
                RunBlocks image = runs.get(run++);
                if (image.sliceLength(partition) > 0) {
                    return new Slice(
                            null, image.sliceAddress(partition), image.sliceLength(partition), partition, null);
                }
            }
            run = 0;
            partition++;
        }
        return null;
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            onClose.accept(begun ? layout : null);
        }
    }
}
