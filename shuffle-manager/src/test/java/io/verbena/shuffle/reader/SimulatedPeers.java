package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.transport.CountedLease;
import io.verbena.transport.LeaseCounts;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BlockManagerId;
import scala.Option;

/**
 * The other executors of a cluster, as far as one executor sees them: they answer its requests and its reads, at once and on its
 * thread. What they do is counted apart from what it costs to ask them.
 */
final class SimulatedPeers implements Transport, BlockClient {
    private static final int RKEY = 9;

    /** Run images lie that far apart. */
    private static final long STRIDE = 1L << 32;

    private final ClusterSize size;
    private final SimulatedOutputs outputs;
    private final LeaseCounts ownLeases = new LeaseCounts();
    private final BlockManagerId[] ids;
    Cost cost = new Cost(0, 0);
    int connections;
    int leases;
    int reads;
    long readBytes;
    private int messages;

    SimulatedPeers(ClusterSize size, SimulatedOutputs outputs) {
        this.size = size;
        this.outputs = outputs;
        ids = new BlockManagerId[size.executors()];
        for (int e = 0; e < ids.length; e++) {
            ids[e] = BlockManagerId.apply(Integer.toString(e), "host-" + e, 7000, Option.empty());
        }
    }

    BlockManagerId id(int executor) {
        return ids[executor];
    }

    /** Sets the counts of messages and reads, and the cost, to zero. */
    void resetCounts() {
        cost = new Cost(0, 0);
        messages = 0;
        reads = 0;
        readBytes = 0;
    }

    /** Requests over Spark's block transfer. */
    int messages() {
        return messages;
    }

    MapOutputDirectory directory(int executor, int shuffleId) {
        Map<Long, MapOutputDirectory.Entry> entries = new HashMap<>();
        for (int i = 0; i < size.mapsPerExecutor(); i++) {
            int mapIndex = executor * size.mapsPerExecutor() + i;
            entries.put(
                    size.mapId(shuffleId, mapIndex),
                    MapOutputDirectory.Entry.inMemory(List.of(new RunLocation(
                            STRIDE * size.mapId(shuffleId, mapIndex), RKEY, outputs.imageLength(mapIndex)))));
        }
        return new MapOutputDirectory(shuffleId, entries);
    }

    @Override
    public void fetch(
            BlockManagerId peer, String[] blockIds, BlockFetchingListener listener, DownloadFileManager files) {
        for (String blockId : blockIds) {
            Cost before = Cost.now();
            byte[] answer = answer(Integer.parseInt(peer.executorId()), blockId);
            cost = cost.plus(Cost.now().since(before));
            listener.onBlockFetchSuccess(blockId, new NioManagedBuffer(ByteBuffer.wrap(answer)));
        }
    }

    private byte[] answer(int executor, String blockId) {
        messages++;
        if (blockId.equals(ReservedBlocks.endpoint())) {
            return new byte[0];
        }
        int shuffleId = Integer.parseInt(blockId.split("_", -1)[1]);
        if (!blockId.equals(ReservedBlocks.directory(shuffleId))) {
            throw new AssertionError("nothing else is asked for: " + blockId);
        }
        return directory(executor, shuffleId).encode();
    }

    @Override
    public String name() {
        return "simulated";
    }

    @Override
    public byte[] descriptor() {
        return new byte[0];
    }

    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) {
        connections++;
        return new Memory();
    }

    @Override
    public boolean unread(int key) {
        return !ownLeases.isHeld(key);
    }

    @Override
    public ReadLease leaseLocal(int key) {
        return ownLeases.hold(key);
    }

    @Override
    public void close() {}

    private final class Memory implements RemoteMemory {
        private boolean closed;

        @Override
        public String transport() {
            return name();
        }

        @Override
        public void refresh(byte[] descriptor) {}

        @Override
        public boolean knows(int rkey) {
            return rkey == RKEY;
        }

        @Override
        public ReadLease acquireLease(int key, Duration timeout) {
            leases++;
            return new CountedLease(key, () -> leases--);
        }

        @Override
        public boolean supportsViews() {
            return false;
        }

        @Override
        public long view(long remoteAddress, int rkey, long length) {
            throw new UnsupportedOperationException("no views");
        }

        @Override
        public ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) {
            throw new UnsupportedOperationException("no views");
        }

        @Override
        public void read(ReadRequest request) {
            Cost before = Cost.now();
            request.destination().markPosted();
            for (ReadRequest.Range range : request.ranges()) {
                long mapId = range.remoteAddress() / STRIDE;
                outputs.copy(
                        mapId,
                        size.mapIndex(mapId),
                        range.remoteAddress() % STRIDE,
                        request.destination().address() + range.destinationOffset(),
                        range.length());
                readBytes += range.length();
            }
            reads++;
            request.destination().markCompleted();
            cost = cost.plus(Cost.now().since(before));
            request.listener().onSuccess();
        }

        @Override
        public boolean isAlive() {
            return !closed;
        }

        @Override
        public void close() {
            if (!closed) {
                closed = true;
                connections--;
            }
        }
    }
}
