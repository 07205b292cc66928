package io.verbena.shuffle.reader;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;

/**
 * Who has what, for one reduce task: one list of map outputs per executor. The map output tracker stays the only truth about it.
 *
 * @param byLocation non-empty lists, in random order of the executors so that reducers do not all begin with the same one
 */
record FetchPlan(Map<BlockManagerId, List<MapRef>> byLocation) {
    /**
     * Asks the tracker, which throws a MetadataFetchFailedException when a map output has no location.
     */
    static FetchPlan of(
            MapOutputTracker tracker,
            int shuffleId,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition) {
        Map<BlockManagerId, List<MapRef>> found = null;
        if (tracker instanceof MapOutputTrackerWorker worker) {
            MapStatus[] statuses = statuses(worker, shuffleId, startPartition);
            if (statuses != null) {
                found = fromStatuses(statuses, startMapIndex, endMapIndex, startPartition, endPartition);
            }
        }
        return shuffled(
                found != null
                        ? found
                        : fromTracker(tracker, shuffleId, startMapIndex, endMapIndex, startPartition, endPartition));
    }

    /**
     * The map statuses that the tracker of an executor has, fetched from the driver if need be; {@code null} if they were dropped
     * at once. They are what the tracker's own answers are made of and nothing is kept of them here, so a new epoch or a failed
     * fetch changes the next plan as it changes the next answer. An executor replaces this array but never its elements.
     */
    private static MapStatus[] statuses(MapOutputTrackerWorker tracker, int shuffleId, int partition) {
        Option<MapStatus[]> known = tracker.mapStatuses().get(shuffleId);
        if (known.isEmpty()) {
            // Of no map output, so that it only fetches.
            requireNone(tracker.getMapSizesByExecutorId(shuffleId, 0, 0, partition, partition));
            known = tracker.mapStatuses().get(shuffleId);
        }
        return known.isEmpty() ? null : known.get();
    }

    private static void requireNone(scala.collection.Iterator<?> locations) {
        if (locations.hasNext()) {
            throw new IllegalStateException("map output tracker lists blocks that were not asked for");
        }
    }

    /** Without an object per block and map output, of which the tracker makes eight; {@code null} if a map output is missing. */
    private static Map<BlockManagerId, List<MapRef>> fromStatuses(
            MapStatus[] statuses, int startMapIndex, int endMapIndex, int startPartition, int endPartition) {
        Map<BlockManagerId, List<MapRef>> found = new HashMap<>();
        for (int mapIndex = startMapIndex; mapIndex < Math.min(endMapIndex, statuses.length); mapIndex++) {
            MapStatus status = statuses[mapIndex];
            if (status == null) {
                return null;
            }
            long bytes = 0;
            for (int p = startPartition; p < endPartition; p++) {
                bytes += status.getSizeForBlock(p);
            }
            if (bytes > 0) {
                BlockManagerId location = status.location();
                found.computeIfAbsent(location, l -> new ArrayList<>())
                        .add(new MapRef(location, status.mapId(), mapIndex, startPartition, endPartition, bytes));
            }
        }
        return found;
    }

    /** By the tracker's own answer: on the driver, whose statuses change in place, and for the error if a map output is missing. */
    private static Map<BlockManagerId, List<MapRef>> fromTracker(
            MapOutputTracker tracker,
            int shuffleId,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition) {
        Map<BlockManagerId, List<MapRef>> found = new HashMap<>();
        scala.collection.Iterator<Tuple2<BlockManagerId, scala.collection.Seq<Tuple3<BlockId, Object, Object>>>>
                locations = tracker.getMapSizesByExecutorId(
                        shuffleId, startMapIndex, endMapIndex, startPartition, endPartition);
        while (locations.hasNext()) {
            Tuple2<BlockManagerId, scala.collection.Seq<Tuple3<BlockId, Object, Object>>> location = locations.next();
            Map<Long, MapRef> refs = new LinkedHashMap<>();
            scala.collection.Iterator<Tuple3<BlockId, Object, Object>> blocks =
                    location._2().iterator();
            while (blocks.hasNext()) {
                Tuple3<BlockId, Object, Object> block = blocks.next();
                long mapId = ((ShuffleBlockId) block._1()).mapId();
                long size = (Long) block._2();
                int mapIndex = (Integer) block._3();
                // Blocks of size 0 are left out by the tracker; in the index they have length 0, so the whole range is
                // asked for.
                refs.merge(
                        mapId,
                        new MapRef(location._1(), mapId, mapIndex, startPartition, endPartition, size),
                        (a, b) -> new MapRef(
                                a.location(),
                                mapId,
                                mapIndex,
                                startPartition,
                                endPartition,
                                a.estimatedBytes() + b.estimatedBytes()));
            }
            if (!refs.isEmpty()) {
                found.put(location._1(), List.copyOf(refs.values()));
            }
        }
        return found;
    }

    private static FetchPlan shuffled(Map<BlockManagerId, List<MapRef>> found) {
        List<BlockManagerId> order = new ArrayList<>(found.keySet());
        Collections.shuffle(order);
        Map<BlockManagerId, List<MapRef>> shuffled = new LinkedHashMap<>();
        order.forEach(location -> shuffled.put(location, found.get(location)));
        return new FetchPlan(shuffled);
    }
}
