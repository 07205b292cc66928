package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongFunction;
import java.util.stream.Collectors;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Another executor: whether its memory can be read directly, and the connection if so. A connection that breaks is given up, with
 * all that was learnt through it, and made anew for a later task when {@link ReconnectPolicy} allows.
 *
 * <p>Threads: any; one connects at a time, under {@code this}.
 */
final class Peer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Peer.class);

    private final BlockManagerId id;
    private final PeerResources resources;
    private final ReconnectPolicy policy;
    private final AtomicReference<RemoteMemory> connection = new AtomicReference<>();

    /** Reasons that have been logged since the last connection was made. */
    private final Set<String> logged = ConcurrentHashMap.newKeySet();

    private volatile long lastUsedNs = System.nanoTime();
    private boolean countedAsFar;

    Peer(BlockManagerId id, PeerResources resources) {
        this.id = id;
        this.resources = resources;
        this.policy = new ReconnectPolicy(TimeUnit.MILLISECONDS.toNanos(resources.retryIntervalMs()));
    }

    /**
     * Prepares to read a shuffle from the peer's memory: lease first, directory second.
     *
     * @return {@code null} if the peer's memory cannot be reached now, or gives no lease in time: its blocks come over Spark's
     *     block transfer
     * @throws IOException if the peer cannot be reached at all or its answers are damaged or of another version
     */
    PeerShuffle openShuffle(int shuffleId) throws IOException, InterruptedException {
        RemoteMemory connected = connect();
        if (connected == null) {
            return null;
        }
        ReadLease lease;
        try {
            lease = connected.acquireLease(shuffleId, Duration.ofMillis(resources.connectTimeoutMs()));
        } catch (TransportException e) {
            if (connected.supportsViews()) {
                // Leases that others hold are good, and so is the mapping; but the next task need not wait for this
                // one.
                policy.unreachable(System.nanoTime());
                LOG.warn("{} is read over the network for shuffle {}: {}", name(), shuffleId, e.getMessage());
            } else {
                broken(connected, e);
            }
            return null;
        }
        boolean handedOver = false;
        try {
            PeerShuffle shuffle =
                    new PeerShuffle(this, resources, shuffleId, connected, lease, fetchDirectory(shuffleId));
            handedOver = true;
            return shuffle;
        } finally {
            if (!handedOver) {
                lease.close();
            }
        }
    }

    /** Whether opening a shuffle now may succeed where it did not before. Does not wait. */
    boolean mayConnect() {
        return policy.mayConnect(System.nanoTime());
    }

    private RemoteMemory connect() throws IOException, InterruptedException {
        RemoteMemory current = connection.get();
        // A neighbour's mapped memory outlives it, and a lease on it says whether it is of use.
        if (current != null && !current.supportsViews() && !current.isAlive()) {
            broken(current, null);
        }
        synchronized (this) {
            if (connection.get() == null && mayConnect()) {
                connection.set(tryConnect());
            }
            return connection.get();
        }
    }

    private RemoteMemory tryConnect() throws IOException, InterruptedException {
        byte[] descriptor = fetchDescriptor();
        try {
            RemoteMemory memory =
                    resources.transport().connect(descriptor, Duration.ofMillis(resources.connectTimeoutMs()));
            logged.clear();
            if (policy.connected(System.nanoTime())) {
                resources.counters().add(ShuffleCounter.PEERS_RECOVERED, 1);
                LOG.info("{} is connected again: its memory is read by {}", name(), memory.transport());
            } else if (memory.supportsViews()) {
                LOG.info("{} is a neighbour: its memory is read in place", name());
            } else {
                LOG.info("{} is connected: its memory is read by {}", name(), memory.transport());
            }
            return memory;
        } catch (TransportException e) {
            switch (e.reason()) {
                case CORRUPT_DESCRIPTOR, VERSION_MISMATCH ->
                    throw new IOException("endpoint descriptor of " + name() + " is unusable: " + e.getMessage(), e);
                case NOT_REACHABLE -> unreachable(e);
                default -> failed(e.getMessage());
            }
            return null;
        }
    }

    private void unreachable(TransportException e) {
        policy.unreachable(System.nanoTime());
        if (!countedAsFar) {
            countedAsFar = true;
            resources.counters().add(ShuffleCounter.PEERS_NOT_MAPPED, 1);
            LOG.info("{} is read over the network: {}", name(), e.getMessage());
        }
    }

    /**
     * Gives a connection up; leases and places learnt through it are void. A connection that was given up before is ignored.
     *
     * @param cause what went wrong, {@code null} if it is only known to be dead
     */
    void broken(RemoteMemory connected, Exception cause) {
        if (connection.compareAndSet(connected, null)) {
            failed("the connection broke" + (cause == null ? "" : ": " + cause.getMessage()));
            resources.inBackground(connected::close);
        }
    }

    private void failed(String why) {
        if (policy.failed(System.nanoTime())) {
            resources.counters().add(ShuffleCounter.PEERS_DEMOTED, 1);
            LOG.warn(
                    "{} is read over the network for {} ms after {} failures: {}",
                    name(),
                    resources.retryIntervalMs(),
                    ReconnectPolicy.MAX_FAILURES,
                    why);
        } else {
            warnOnce("CONNECTION", "is read over the network until it is connected again: " + why);
        }
    }

    /** Logs once per reason and connection, then only at debug level: the same fault hits every block. */
    void warnOnce(String reason, String message) {
        if (logged.add(reason)) {
            LOG.warn("{} {}", name(), message);
        } else {
            LOG.debug("{} {}", name(), message);
        }
    }

    MapOutputDirectory fetchDirectory(int shuffleId) throws IOException, InterruptedException {
        resources.counters().add(ShuffleCounter.DIRECTORY_FETCHES, 1);
        byte[] message =
                resources.client().fetchMessage(id, ReservedBlocks.directory(shuffleId), resources.timeoutMs());
        try {
            return MapOutputDirectory.decode(message, shuffleId);
        } catch (IOException e) {
            throw new IOException(
                    "directory of shuffle " + shuffleId + " from " + name() + " is unusable: " + e.getMessage(), e);
        }
    }

    void refreshMemory(RemoteMemory connected) throws IOException, InterruptedException {
        connected.refresh(fetchDescriptor());
    }

    private byte[] fetchDescriptor() throws IOException, InterruptedException {
        return resources.client().fetchMessage(id, ReservedBlocks.endpoint(), resources.timeoutMs());
    }

    /**
     * Fetches a small block for each map output by one request.
     *
     * @param blockId names the block of a map output
     * @throws IOException if one does not come
     */
    Map<Long, byte[]> fetchEach(Set<Long> mapIds, LongFunction<String> blockId)
            throws IOException, InterruptedException {
        List<String> ids = mapIds.stream().map(blockId::apply).toList();
        Map<String, byte[]> messages = resources.client().fetchMessages(id, ids, resources.timeoutMs());
        return mapIds.stream().collect(Collectors.toMap(mapId -> mapId, mapId -> messages.get(blockId.apply(mapId))));
    }

    private String name() {
        return BlockClient.name(id);
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
        RemoteMemory memory = connection.getAndSet(null);
        if (memory != null) {
            memory.close();
        }
    }
}
