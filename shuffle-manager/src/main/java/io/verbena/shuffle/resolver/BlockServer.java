package io.verbena.shuffle.resolver;

import io.verbena.shuffle.metadata.BlockFrame.ChecksumKind;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.PinnedFile;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.ReadLease;
import io.verbena.transport.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;

/**
 * Answers the reserved block ids: the endpoint descriptor, a shuffle's directory, and ranges of blocks in frames.
 *
 * <p>Threads: any (Spark's transfer threads, and task threads for what lies on their own executor's disk).
 */
public final class BlockServer {
    private final MapOutputStore store;
    private final StockFiles files;
    private final Transport transport;
    private final ShuffleCounters counters;
    private final PinnedFiles pins;

    /**
     * Creates the server over what it serves; it owns none of it.
     *
     * @param pins makes files readable for peers, null if that is not possible here
     */
    public BlockServer(
            MapOutputStore store, StockFiles files, Transport transport, ShuffleCounters counters, PinnedFiles pins) {
        this.store = store;
        this.files = files;
        this.transport = transport;
        this.counters = counters;
        this.pins = pins;
    }

    /** The descriptor with which a peer connects to this executor's memory. */
    public ManagedBuffer endpoint() {
        counters.add(ShuffleCounter.SERVED_REQUESTS, 1);
        return new NioManagedBuffer(ByteBuffer.wrap(transport.descriptor()));
    }

    /** The map outputs of a shuffle that are here. */
    public ManagedBuffer directory(int shuffleId) {
        counters.add(ShuffleCounter.SERVED_REQUESTS, 1);
        long pinnableBytes = pins == null ? Long.MAX_VALUE : pins.smallestBytes();
        return new NioManagedBuffer(
                ByteBuffer.wrap(store.directory(shuffleId, pinnableBytes).encode()));
    }

    /**
     * Where the blocks {@code [startReduceId, endReduceId)} of a map output can be read in its file, or why they cannot.
     *
     * @throws IOException if there are no such blocks
     */
    public ManagedBuffer pin(int shuffleId, long mapId, int startReduceId, int endReduceId) throws IOException {
        counters.add(ShuffleCounter.SERVED_REQUESTS, 1);
        PinnedFile answer = PinnedFile.refused("no file that could be pinned");
        if (pins != null && store.get(shuffleId, mapId) instanceof MapOutput.OnDisk output) {
            checkRange(shuffleId, output, startReduceId, endReduceId);
            answer = pins.pin(shuffleId, output, IndexSpan.of(startReduceId, endReduceId, output.partitions()));
        }
        return new NioManagedBuffer(ByteBuffer.wrap(answer.encode(shuffleId, mapId)));
    }

    /**
     * The blocks {@code [startReduceId, endReduceId)} of a map output; the caller releases the buffer.
     *
     * @throws IOException if this executor does not hold the map output, or holds it damaged
     */
    public ManagedBuffer frame(int shuffleId, long mapId, int startReduceId, int endReduceId) throws IOException {
        counters.add(ShuffleCounter.SERVED_REQUESTS, 1);
        ReadLease lease = store.lease(shuffleId);
        boolean handedOver = false;
        try {
            MapOutput output = store.get(shuffleId, mapId);
            if (output instanceof MapOutput.InMemory memory) {
                checkRange(shuffleId, output, startReduceId, endReduceId);
                ManagedBuffer frame = frame(memory, startReduceId, endReduceId, lease);
                handedOver = true;
                return frame;
            }
            // Not in the store: maybe a file that a decommissioned executor migrated to this one.
            MapOutput.OnDisk onDisk = output instanceof MapOutput.OnDisk known ? known : files.find(shuffleId, mapId);
            if (onDisk == null) {
                throw new IOException(
                        "map output is not on this executor: shuffleId=" + shuffleId + ", mapId=" + mapId);
            }
            checkRange(shuffleId, onDisk, startReduceId, endReduceId);
            return files.frame(shuffleId, onDisk, startReduceId, endReduceId);
        } finally {
            if (!handedOver) {
                lease.close();
            }
        }
    }

    private static void checkRange(int shuffleId, MapOutput output, int startReduceId, int endReduceId)
            throws IOException {
        if (startReduceId < 0 || startReduceId > endReduceId || endReduceId > output.partitions()) {
            throw new IOException("blocks do not exist: shuffleId=" + shuffleId + ", mapId=" + output.mapId()
                    + ", asked=[" + startReduceId + ", " + endReduceId + "), partitions=" + output.partitions());
        }
    }

    private static ManagedBuffer frame(MapOutput.InMemory output, int startReduceId, int endReduceId, ReadLease lease)
            throws IOException {
        FrameBuffer.Builder frame = new FrameBuffer.Builder(output.layout(), ChecksumKind.CRC32C);
        List<RunImage> runs = output.open();
        List<ByteBuffer> images = runs.stream().map(RunImage::whole).toList();
        for (int p = startReduceId; p < endReduceId; p++) {
            for (int i = 0; i < runs.size(); i++) {
                RunImage run = runs.get(i);
                if (run.sliceLength(p) > 0) {
                    FramePart slice =
                            new FramePart.Memory(images.get(i), (int) run.sliceOffset(p), (int) run.sliceLength(p));
                    frame.add(p, run.sliceCrc(p) & 0xffffffffL, slice);
                } else {
                    // The reader verifies what it gets; that there is nothing to get is verified here.
                    run.verify(p);
                }
            }
        }
        return frame.build(lease);
    }
}
