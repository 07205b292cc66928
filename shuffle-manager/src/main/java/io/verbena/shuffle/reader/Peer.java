package io.verbena.shuffle.reader;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import java.io.IOException;
import java.time.Duration;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Another executor: whether its memory can be read directly, and the connection if so.
 *
 * <p>Threads: any; connecting happens once, under {@code this}.
 */
final class Peer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Peer.class);

    private final BlockManagerId id;
    private final Transport transport;
    private final BlockClient client;
    private final ShuffleCounters counters;
    private final long timeoutMs;

    private volatile long lastUsedNs = System.nanoTime();

    @GuardedBy("this")
    private RemoteMemory memory;

    @GuardedBy("this")
    private boolean tooFar;

    Peer(BlockManagerId id, Transport transport, BlockClient client, ShuffleCounters counters, long timeoutMs) {
        this.id = id;
        this.transport = transport;
        this.client = client;
        this.counters = counters;
        this.timeoutMs = timeoutMs;
    }

    /**
     * Prepares to read a shuffle from the peer's memory: lease first, directory second.
     *
     * @return {@code null} if the peer is not a neighbour, cannot be read in place, or gives no lease in time: its blocks come over Spark's block transfer
     * @throws IOException if the peer cannot be reached or its answers are damaged or of another version
     */
    PeerShuffle openShuffle(int shuffleId) throws IOException, InterruptedException {
        RemoteMemory connected = connect();
        if (connected == null || !connected.supportsViews()) {
            return null;
        }
        ReadLease lease;
        try {
            lease = connected.acquireLease(shuffleId, Duration.ofMillis(timeoutMs));
        } catch (TransportException e) {
            LOG.warn("{} is read over the network for shuffle {}: {}", BlockClient.name(id), shuffleId, e.getMessage());
            return null;
        }
        boolean handedOver = false;
        try {
            PeerShuffle shuffle = new PeerShuffle(this, shuffleId, connected, lease, fetchDirectory(shuffleId));
            handedOver = true;
            return shuffle;
        } finally {
            if (!handedOver) {
                lease.close();
            }
        }
    }

    private synchronized RemoteMemory connect() throws IOException, InterruptedException {
        if (memory == null && !tooFar) {
            byte[] descriptor = client.fetchMessage(id, ReservedBlocks.endpoint(), timeoutMs);
            try {
                memory = transport.connect(descriptor, Duration.ofMillis(timeoutMs));
                LOG.info("{} is a neighbour: its memory is read in place", BlockClient.name(id));
            } catch (TransportException e) {
                if (e.reason() == TransportException.Reason.CORRUPT_DESCRIPTOR
                        || e.reason() == TransportException.Reason.VERSION_MISMATCH) {
                    throw new IOException(
                            "endpoint descriptor of " + BlockClient.name(id) + " is unusable: " + e.getMessage(), e);
                }
                tooFar = true;
                counters.add(ShuffleCounter.PEERS_NOT_MAPPED, 1);
                LOG.info("{} is read over the network: {}", BlockClient.name(id), e.getMessage());
            }
        }
        return memory;
    }

    MapOutputDirectory fetchDirectory(int shuffleId) throws IOException, InterruptedException {
        counters.add(ShuffleCounter.DIRECTORY_FETCHES, 1);
        byte[] message = client.fetchMessage(id, ReservedBlocks.directory(shuffleId), timeoutMs);
        try {
            return MapOutputDirectory.decode(message, shuffleId);
        } catch (IOException e) {
            throw new IOException(
                    "directory of shuffle " + shuffleId + " from " + BlockClient.name(id) + " is unusable: "
                            + e.getMessage(),
                    e);
        }
    }

    void refreshMemory(RemoteMemory connected) throws IOException, InterruptedException {
        connected.refresh(client.fetchMessage(id, ReservedBlocks.endpoint(), timeoutMs));
    }

    void touch() {
        lastUsedNs = System.nanoTime();
    }

    /** True when no shuffle has been opened for that long. */
    boolean isIdle(long idleNs) {
        return System.nanoTime() - lastUsedNs >= idleNs;
    }

    @Override
    public synchronized void close() {
        if (memory != null) {
            memory.close();
            memory = null;
        }
    }
}
