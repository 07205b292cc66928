package io.verbena.shuffle.resolver;

import io.verbena.arena.Arena;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.pairs.PairTranscoder;
import io.verbena.transport.ReadLease;
import io.verbena.transport.Transport;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongFunction;

/**
 * The map outputs that this executor holds.
 *
 * <p>Ownership: {@link #commit} takes over the leases of a map output's runs. They go back to the arena when the shuffle is
 * removed, the output is moved to disk, or the store closes; always through quarantine, so that memory is reused only after
 * every reader's lease on the shuffle has ended.
 *
 * <p>Order that keeps readers right: a reader takes its lease on the shuffle first and looks up (or fetches the directory)
 * second; the store withdraws first and asks for leases second.
 *
 * <p>Threads: any. Maps are concurrent; one entry's replacement is a compare-and-set.
 */
public final class MapOutputStore {
    private static final int LOOKUPS_PER_USE = 64;

    private final ConcurrentHashMap<Integer, ShuffleOutputs> shuffles = new ConcurrentHashMap<>();
    private final Arena arena;
    private final Transport transport;

    /** The outputs of one shuffle and when it was last written or read. */
    private static final class ShuffleOutputs {
        final ConcurrentHashMap<Long, MapOutput> byMapId = new ConcurrentHashMap<>();
        volatile long lastUsedNs = System.nanoTime();

        /** The first map output's: a serializer and its pool for each would be a Kryo for each. */
        volatile PairTranscoder transcoder;

        MapOutput sharing(MapOutput output) {
            if (!(output instanceof MapOutput.InMemory memory) || memory.transcoder() == null) {
                return output;
            }
            if (transcoder == null) {
                transcoder = memory.transcoder();
            }
            return memory.with(transcoder);
        }
    }

    /** Creates an empty store over memory that it does not own. */
    public MapOutputStore(Arena arena, Transport transport) {
        this.arena = arena;
        this.transport = transport;
    }

    /** Makes a map output visible to readers, as a whole. */
    public void commit(int shuffleId, MapOutput output) {
        // Inside compute, so that a removal of the shuffle comes wholly before or wholly after.
        shuffles.compute(shuffleId, (id, existing) -> {
            ShuffleOutputs outputs = existing == null ? new ShuffleOutputs() : existing;
            outputs.lastUsedNs = System.nanoTime();
            if (outputs.byMapId.putIfAbsent(output.mapId(), outputs.sharing(output)) != null) {
                throw new IllegalStateException(
                        "map output is committed twice: shuffleId=" + shuffleId + ", mapId=" + output.mapId());
            }
            return outputs;
        });
    }

    /** Returns a map output, {@code null} if this executor does not hold it. To read memory, hold {@link #lease} first. */
    public MapOutput get(int shuffleId, long mapId) {
        ShuffleOutputs outputs = shuffles.get(shuffleId);
        if (outputs == null) {
            return null;
        }
        outputs.lastUsedNs = System.nanoTime();
        return outputs.byMapId.get(mapId);
    }

    /**
     * As {@link #get}, for a task that looks up many map outputs of one shuffle: every {@value #LOOKUPS_PER_USE} count as one use. What
     * is removed from the store is not found any more; what is committed to a shuffle of which nothing was here yet may not be found.
     */
    public LongFunction<MapOutput> outputs(int shuffleId) {
        ShuffleOutputs outputs = shuffles.get(shuffleId);
        if (outputs == null) {
            return mapId -> null;
        }
        return new LongFunction<>() {
            private int lookups;

            @Override
            public MapOutput apply(long mapId) {
                if (lookups++ % LOOKUPS_PER_USE == 0) {
                    outputs.lastUsedNs = System.nanoTime();
                }
                return outputs.byMapId.get(mapId);
            }
        };
    }

    /** True while the output is what the store would return; unlike {@link #get} it does not count as a use. */
    boolean holds(int shuffleId, MapOutput output) {
        ShuffleOutputs outputs = shuffles.get(shuffleId);
        return outputs != null && outputs.byMapId.get(output.mapId()) == output;
    }

    /** Takes a lease for a reader in this process: memory of the shuffle is not reused while it is open. */
    public ReadLease lease(int shuffleId) {
        return transport.leaseLocal(shuffleId);
    }

    /** Lists what is held of a shuffle; empty when nothing is. Which segments it can reach is the reader's to know. */
    public MapOutputDirectory directory(int shuffleId) {
        return directory(shuffleId, Long.MAX_VALUE);
    }

    /**
     * As {@link #directory(int)}.
     *
     * @param pinnableBytes map outputs in files of at least that many bytes are listed as pinnable
     */
    public MapOutputDirectory directory(int shuffleId, long pinnableBytes) {
        ShuffleOutputs outputs = shuffles.get(shuffleId);
        if (outputs == null) {
            return new MapOutputDirectory(shuffleId, Map.of());
        }
        outputs.lastUsedNs = System.nanoTime();
        Map<Long, MapOutputDirectory.Entry> entries = new HashMap<>();
        outputs.byMapId.forEach((mapId, output) -> entries.put(mapId, entry(output, pinnableBytes)));
        return new MapOutputDirectory(shuffleId, entries);
    }

    private static MapOutputDirectory.Entry entry(MapOutput output, long pinnableBytes) {
        if (output instanceof MapOutput.InMemory memory) {
            return MapOutputDirectory.Entry.inMemory(memory.locations());
        }
        return output instanceof MapOutput.OnDisk file && file.bytes() >= pinnableBytes
                ? MapOutputDirectory.Entry.MAY_BE_PINNED
                : MapOutputDirectory.Entry.SERVED;
    }

    /**
     * Forgets a shuffle and retires its memory. A no-op for a shuffle that is not here: Spark broadcasts removals, repeats them,
     * and may send one before the first job of a shuffle.
     *
     * @return the map ids whose stock files the caller removes
     */
    public List<Long> remove(int shuffleId) {
        ShuffleOutputs outputs = shuffles.remove(shuffleId);
        if (outputs == null) {
            return List.of();
        }
        List<Long> onDisk = new ArrayList<>();
        BooleanSupplier unread = unread(shuffleId);
        for (Long mapId : outputs.byMapId.keySet()) {
            // Taken out one by one: an eviction under way either replaced the output before, or finds it gone.
            MapOutput output = outputs.byMapId.remove(mapId);
            if (output instanceof MapOutput.InMemory memory) {
                retire(memory, unread);
            } else if (output != null) {
                onDisk.add(mapId);
            }
        }
        return onDisk;
    }

    /**
     * Replaces a map output in memory by the stock file that now holds the same blocks, and retires the memory.
     *
     * @param fileBytes bytes of all blocks in the file
     * @return false if the shuffle was removed meanwhile: the caller removes the file, the memory is already retired
     */
    boolean moveToDisk(int shuffleId, MapOutput.InMemory memory, long fileBytes) {
        ShuffleOutputs outputs = shuffles.get(shuffleId);
        if (outputs == null
                || !outputs.byMapId.replace(
                        memory.mapId(), memory, new MapOutput.OnDisk(memory.mapId(), memory.partitions(), fileBytes))) {
            return false;
        }
        retire(memory, unread(shuffleId));
        return true;
    }

    private void retire(MapOutput.InMemory memory, BooleanSupplier unread) {
        for (RegisteredBuffer run : memory.runs()) {
            arena.retire(run, unread);
        }
    }

    /** Asks for leases until there are none; from then on the answer stays true for what was withdrawn before. */
    private BooleanSupplier unread(int shuffleId) {
        return new BooleanSupplier() {
            private volatile boolean none;

            @Override
            public boolean getAsBoolean() {
                if (!none && transport.unread(shuffleId)) {
                    none = true;
                }
                return none;
            }
        };
    }

    /** Shuffles with map outputs in memory, the least recently used first. */
    List<Integer> coldestFirst() {
        // Times are taken once: they change while we sort.
        Map<Integer, Long> lastUsedNs = new HashMap<>();
        shuffles.forEach((shuffleId, outputs) -> {
            if (outputs.byMapId.values().stream().anyMatch(MapOutput.InMemory.class::isInstance)) {
                lastUsedNs.put(shuffleId, outputs.lastUsedNs);
            }
        });
        long now = System.nanoTime();
        return lastUsedNs.entrySet().stream()
                .sorted(Comparator.comparingLong(e -> e.getValue() - now))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** The map outputs of a shuffle that are in memory now. */
    List<MapOutput.InMemory> inMemory(int shuffleId) {
        ShuffleOutputs outputs = shuffles.get(shuffleId);
        return outputs == null
                ? List.of()
                : outputs.byMapId.values().stream()
                        .filter(MapOutput.InMemory.class::isInstance)
                        .map(MapOutput.InMemory.class::cast)
                        .toList();
    }

    /** Ids of all shuffles of which something is held. */
    public List<Integer> shuffleIds() {
        return List.copyOf(shuffles.keySet());
    }
}
