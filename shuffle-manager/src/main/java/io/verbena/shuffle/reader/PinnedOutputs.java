package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.IndexSpan;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.PinnedFile;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metadata.RunIndex;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The files of one shuffle that one peer was asked to make readable, each once, with the same part of its index. The answer is good
 * as long as the lease on the shuffle; so is a refusal, whatever the part.
 *
 * <p>Threads: any. Peers are asked in the background, many files by one request.
 */
final class PinnedOutputs {
    private static final int MAX_FILES_PER_REQUEST = 256;

    private final PeerShuffle shuffle;
    private final Peer peer;
    private final PeerResources resources;
    private final IndexSpan span;
    private final Set<Long> refused;
    private final Map<Long, CompletableFuture<Pinned>> asked = new ConcurrentHashMap<>();

    /** @param refused map outputs of the shuffle whose files the peer does not make readable, shared by all parts of the indexes */
    PinnedOutputs(PeerShuffle shuffle, Peer peer, PeerResources resources, IndexSpan span, Set<Long> refused) {
        this.shuffle = shuffle;
        this.peer = peer;
        this.resources = resources;
        this.span = span;
        this.refused = refused;
    }

    /** A file that is read as a run in memory is; {@link #NONE} if it is not to be had. */
    record Pinned(MapOutputDirectory.Entry entry, RunIndex index) {
        static final Pinned NONE = new Pinned(null, null);
    }

    /** Asks for what was not asked for; completes when there is an answer for every one of the map outputs. */
    CompletableFuture<Void> ask(List<Long> mapIds) {
        List<CompletableFuture<Pinned>> all = new ArrayList<>();
        Map<Long, CompletableFuture<Pinned>> mine = new HashMap<>();
        for (long mapId : mapIds) {
            CompletableFuture<Pinned> fresh = new CompletableFuture<>();
            CompletableFuture<Pinned> known = asked.putIfAbsent(mapId, fresh);
            if (known == null && refused.contains(mapId)) {
                fresh.complete(Pinned.NONE);
            } else if (known == null) {
                mine.put(mapId, fresh);
            }
            all.add(known == null ? fresh : known);
            if (mine.size() == MAX_FILES_PER_REQUEST) {
                start(mine);
                mine = new HashMap<>();
            }
        }
        if (!mine.isEmpty()) {
            start(mine);
        }
        return CompletableFuture.allOf(all.toArray(CompletableFuture[]::new));
    }

    /** Returns what came of a map output whose {@link #ask} is complete, null if it is to be had another way. */
    Pinned get(long mapId) {
        Pinned pinned = asked.get(mapId).getNow(Pinned.NONE);
        return pinned.index() == null ? null : pinned;
    }

    private void start(Map<Long, CompletableFuture<Pinned>> files) {
        resources.inBackground(() -> {
            Map<Long, Pinned> found = new HashMap<>();
            try {
                Map<Long, byte[]> answers = peer.fetchEach(
                        files.keySet(),
                        mapId -> ReservedBlocks.pin(
                                shuffle.shuffleId(), mapId, span.startReduceId(), span.endReduceId()));
                for (Map.Entry<Long, byte[]> answer : answers.entrySet()) {
                    found.put(answer.getKey(), open(answer.getKey(), answer.getValue()));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (IOException | RuntimeException e) {
                peer.warnOnce("FILES", "does not say where its files are, they are fetched: " + e);
            } finally {
                files.forEach((mapId, file) -> file.complete(found.getOrDefault(mapId, Pinned.NONE)));
            }
        });
    }

    private Pinned open(long mapId, byte[] message) throws InterruptedException {
        try {
            PinnedFile file = PinnedFile.decode(message, shuffle.shuffleId(), mapId);
            if (file.refusal() == null) {
                return open(mapId, file);
            }
            refused.add(mapId);
            peer.warnOnce("FILES_REFUSED", "does not make a file readable, it is fetched: " + file.refusal());
        } catch (CorruptMetadataException e) {
            peer.warnOnce("FILES_DAMAGED", "gives a damaged answer for a file, it is fetched: " + e.getMessage());
        }
        return Pinned.NONE;
    }

    private Pinned open(long mapId, PinnedFile file) throws CorruptMetadataException, InterruptedException {
        RunIndex index =
                RunIndex.copyOf(file.windows(), mapId, span, file.location().length());
        MapOutputDirectory.Entry entry = MapOutputDirectory.Entry.inMemory(List.of(file.location()));
        return shuffle.reaches(entry) ? new Pinned(entry, index) : Pinned.NONE;
    }
}
