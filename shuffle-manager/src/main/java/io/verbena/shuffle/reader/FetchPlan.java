package io.verbena.shuffle.reader;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.MapOutputTracker;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
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
        Map<BlockManagerId, List<MapRef>> found = new LinkedHashMap<>();
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
        List<BlockManagerId> order = new ArrayList<>(found.keySet());
        Collections.shuffle(order);
        Map<BlockManagerId, List<MapRef>> shuffled = new LinkedHashMap<>();
        order.forEach(location -> shuffled.put(location, found.get(location)));
        return new FetchPlan(shuffled);
    }
}
