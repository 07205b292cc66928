package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One shuffle's map outputs in one neighbour's memory, as this executor knows them: the directory, and run images whose index
 * has been checked once for all tasks.
 *
 * <p>Lifetime: lives exactly as long as its lease on the shuffle; whatever it knows was learnt under that lease, so the memory
 * still holds it. Counted by {@link PeerRegistry}.
 *
 * <p>Threads: any; one refresh at a time under {@code this}.
 */
final class PeerShuffle {
    private final Peer peer;
    private final int shuffleId;
    private final RemoteMemory memory;
    private final ReadLease lease;
    private final Map<Long, List<RunImage>> images = new ConcurrentHashMap<>();
    private volatile MapOutputDirectory directory;

    /** Map outputs that a refresh did not bring: migrated here from elsewhere, so served from a file. */
    private final Set<Long> absent = ConcurrentHashMap.newKeySet();

    private final AtomicLong refreshes = new AtomicLong();

    /** Takes over the lease. */
    PeerShuffle(Peer peer, int shuffleId, RemoteMemory memory, ReadLease lease, MapOutputDirectory directory) {
        this.peer = peer;
        this.shuffleId = shuffleId;
        this.memory = memory;
        this.lease = lease;
        this.directory = directory;
    }

    /** A number that changes with every refresh; see {@link #find}. */
    long generation() {
        return refreshes.get();
    }

    /**
     * Looks a map output up, refreshing the directory once if it is missing and no one has refreshed since {@code generation}.
     *
     * @return {@code null} when the peer does not list it even now
     */
    MapOutputDirectory.Entry find(long mapId, long generation) throws IOException, InterruptedException {
        MapOutputDirectory.Entry entry = directory.outputs().get(mapId);
        if (entry == null && !absent.contains(mapId)) {
            synchronized (this) {
                if (refreshes.get() == generation) {
                    directory = peer.fetchDirectory(shuffleId);
                    refreshes.incrementAndGet();
                }
            }
            entry = directory.outputs().get(mapId);
            if (entry == null) {
                absent.add(mapId);
            }
        }
        return entry;
    }

    /**
     * Opens the runs of a map output that the directory lists in memory, as views for the calling thread.
     *
     * @throws IOException if a range is not readable or a run image is not what it should be
     */
    List<RunImage> open(long mapId, MapOutputDirectory.Entry entry, int partitions)
            throws IOException, InterruptedException {
        List<RunImage> opened = images.get(mapId);
        if (opened == null) {
            opened = new ArrayList<>(entry.runs().size());
            for (RunLocation run : entry.runs()) {
                if (!memory.knows(run.rkey())) {
                    peer.refreshMemory(memory);
                }
                opened.add(RunImage.open(
                        memory.viewBuffer(run.address(), run.rkey(), Math.toIntExact(run.length())),
                        mapId,
                        partitions));
            }
            images.put(mapId, opened);
        }
        List<RunImage> views = new ArrayList<>(opened.size());
        for (RunImage image : opened) {
            views.add(image.view());
        }
        return views;
    }

    void close() {
        lease.close();
    }
}
