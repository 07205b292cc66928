package io.verbena.shuffle.resolver;

import io.verbena.memory.Segment;
import io.verbena.registration.FileLease;
import io.verbena.registration.MrCache;
import io.verbena.registration.RegistrationException;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.PinnedFile;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.transport.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stock shuffle files that peers read themselves. A file is verified and registered when a peer asks for it, and stays registered
 * while any peer holds a lease on its shuffle; after that the {@link MrCache} keeps it as long as there is room.
 *
 * <p>Order that keeps readers right: a reader takes its lease on the shuffle first and asks second; here an answer is given up
 * only after its shuffle was found unread, and both happen under one lock for a map output.
 *
 * <p>Ownership: owns its leases, not the cache. Threads: any.
 */
public final class PinnedFiles implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PinnedFiles.class);

    private final MrCache cache;
    private final StockFiles files;
    private final Transport transport;
    private final ShuffleCounters counters;
    private final long smallestBytes;
    private final ConcurrentHashMap<Key, Pin> pins = new ConcurrentHashMap<>();

    private record Key(int shuffleId, long mapId) {}

    /** @param head what a run image with the file's blocks would begin with */
    private record Pin(FileLease lease, RunLocation location, ByteBuffer head) {}

    /**
     * Creates it without files.
     *
     * @param smallestBytes files below are cheaper to send than to register
     */
    public PinnedFiles(
            MrCache cache, StockFiles files, Transport transport, ShuffleCounters counters, long smallestBytes) {
        this.cache = cache;
        this.files = files;
        this.transport = transport;
        this.counters = counters;
        this.smallestBytes = smallestBytes;
    }

    /** Files of at least that many bytes are worth asking for. */
    long smallestBytes() {
        return smallestBytes;
    }

    /** Has a map output's file registered, unless it is, and says where it is, with a part of the index; or says why it is not. */
    PinnedFile pin(int shuffleId, MapOutput.OnDisk output, IndexSpan span) {
        if (output.bytes() < Math.max(1, smallestBytes)) {
            return refused(shuffleId, output, "cheaper to send: lengthBytes=" + output.bytes());
        }
        try {
            return tryPin(shuffleId, output, span);
        } catch (RegistrationException e) {
            return sweep() ? pinAgain(shuffleId, output, span) : refused(shuffleId, output, e.getMessage());
        } catch (IOException e) {
            return refused(shuffleId, output, e.getMessage());
        }
    }

    private PinnedFile pinAgain(int shuffleId, MapOutput.OnDisk output, IndexSpan span) {
        try {
            return tryPin(shuffleId, output, span);
        } catch (RegistrationException | IOException e) {
            return refused(shuffleId, output, e.getMessage());
        }
    }

    private PinnedFile refused(int shuffleId, MapOutput.OnDisk output, String why) {
        counters.add(ShuffleCounter.FILE_PIN_REFUSALS, 1);
        LOG.debug("file is not pinned: shuffleId={}, mapId={}: {}", shuffleId, output.mapId(), why);
        return PinnedFile.refused(why);
    }

    private PinnedFile tryPin(int shuffleId, MapOutput.OnDisk output, IndexSpan span)
            throws RegistrationException, IOException {
        Exception[] failure = new Exception[1];
        // Always under the map's lock, also if it is there: a sweep must come wholly before or wholly after.
        Pin pin = pins.compute(new Key(shuffleId, output.mapId()), (key, known) -> {
            try {
                return known != null ? known : make(shuffleId, output);
            } catch (RegistrationException | IOException e) {
                failure[0] = e;
                return null;
            }
        });
        if (failure[0] instanceof RegistrationException e) {
            throw e;
        }
        if (failure[0] instanceof IOException e) {
            throw e;
        }
        return PinnedFile.at(pin.location(), pin.head(), span);
    }

    private Pin make(int shuffleId, MapOutput.OnDisk output) throws RegistrationException, IOException {
        FileLease lease = cache.acquire(files.dataFile(shuffleId, output.mapId()), 0, output.bytes());
        boolean made = false;
        try {
            Segment segment = lease.region().segment();
            ByteBuffer data = segment.buffer().slice((int) (lease.address() - segment.address()), (int) output.bytes());
            ByteBuffer head = files.runHead(shuffleId, output, data);
            RunLocation location = new RunLocation(
                    lease.address() - RunImage.overhead(output.partitions()),
                    lease.region().rkey(),
                    RunImage.overhead(output.partitions()) + output.bytes());
            counters.add(ShuffleCounter.FILES_PINNED, 1);
            made = true;
            return new Pin(lease, location, head);
        } finally {
            if (!made) {
                lease.close();
            }
        }
    }

    /**
     * Gives up files of shuffles that no peer reads; the cache may evict them from here on. Called from time to time.
     *
     * @return whether any was given up
     */
    public boolean sweep() {
        AtomicBoolean any = new AtomicBoolean();
        for (Key key : pins.keySet()) {
            pins.computeIfPresent(key, (k, pin) -> {
                if (!transport.unread(k.shuffleId())) {
                    return pin;
                }
                any.set(true);
                pin.lease().close();
                return null;
            });
        }
        return any.get();
    }

    /** A map output's file is about to be deleted: it is deregistered at once, or when no peer reads its shuffle. */
    public void remove(int shuffleId, long mapId) {
        cache.forget(files.dataFile(shuffleId, mapId));
        pins.computeIfPresent(new Key(shuffleId, mapId), (key, pin) -> {
            if (!transport.unread(shuffleId)) {
                return pin;
            }
            pin.lease().close();
            return null;
        });
    }

    /** Gives up everything; no peer reads any more. */
    @Override
    public void close() {
        for (Key key : pins.keySet()) {
            Pin pin = pins.remove(key);
            if (pin != null) {
                pin.lease().close();
            }
        }
    }
}
