package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.seam.SparkSeam;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.MapOutputTrackerWorker;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.MetadataFetchFailedException;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;

/** What the plan takes from the statuses of an executor's tracker is what that tracker would have answered. */
class FetchPlanTest {
    private static final int SHUFFLE = 2;

    private final Random random = new Random(3);
    private final Tracker tracker = new Tracker();

    /** An executor's tracker; the driver answers with {@link #onDriver}. */
    private static final class Tracker extends MapOutputTrackerWorker {
        MapStatus[] onDriver;
        int fetches;

        Tracker() {
            super(new SparkConf(false));
        }

        @Override
        public scala.collection.Iterator<Tuple2<BlockManagerId, scala.collection.Seq<Tuple3<BlockId, Object, Object>>>>
                getMapSizesByExecutorId(int shuffleId, int startMap, int endMap, int startPartition, int endPartition) {
            if (mapStatuses().get(shuffleId).isEmpty()) {
                fetches++;
                mapStatuses().put(shuffleId, onDriver);
            }
            return super.getMapSizesByExecutorId(shuffleId, startMap, endMap, startPartition, endPartition);
        }
    }

    private MapStatus[] statuses(int maps, int partitions, long firstMapId) {
        MapStatus[] statuses = new MapStatus[maps];
        for (int i = 0; i < maps; i++) {
            long[] sizes = random.longs(partitions, 0, 5_000)
                    .map(size -> size < 2_000 ? 0 : size)
                    .toArray();
            int executor = random.nextInt(5);
            statuses[i] = SparkSeam.mapStatus(
                    BlockManagerId.apply("e" + executor, "h" + executor % 2, 7000 + executor, Option.empty()),
                    sizes,
                    firstMapId + i,
                    0);
        }
        return statuses;
    }

    /** The tracker's answer: map index, map id and bytes of every map output, by location. */
    private Map<BlockManagerId, Map<Integer, List<Long>>> answer(int fromMap, int toMap, int from, int to) {
        Map<BlockManagerId, Map<Integer, List<Long>>> all = new HashMap<>();
        var locations = tracker.getMapSizesByExecutorId(SHUFFLE, fromMap, toMap, from, to);
        while (locations.hasNext()) {
            var location = locations.next();
            var blocks = location._2().iterator();
            while (blocks.hasNext()) {
                var block = blocks.next();
                long mapId = ((org.apache.spark.storage.ShuffleBlockId) block._1()).mapId();
                all.computeIfAbsent(location._1(), l -> new HashMap<>())
                        .merge(
                                (Integer) block._3(),
                                List.of(mapId, (Long) block._2()),
                                (a, b) -> List.of(mapId, a.get(1) + b.get(1)));
            }
        }
        return all;
    }

    private Map<BlockManagerId, Map<Integer, List<Long>>> plan(int fromMap, int toMap, int from, int to) {
        Map<BlockManagerId, Map<Integer, List<Long>>> all = new HashMap<>();
        FetchPlan.of(tracker, SHUFFLE, fromMap, toMap, from, to).byLocation().forEach((location, refs) -> {
            for (MapRef ref : refs) {
                assertThat(ref.location()).isEqualTo(location);
                assertThat(ref.startReduceId()).isEqualTo(from);
                assertThat(ref.endReduceId()).isEqualTo(to);
                all.computeIfAbsent(location, l -> new HashMap<>())
                        .put(ref.mapIndex(), List.of(ref.mapId(), ref.estimatedBytes()));
            }
        });
        return all;
    }

    @Test
    void shouldPlanWhatTheTrackerWouldAnswer() {
        // Above 2,000 partitions Spark keeps averages and a bitmap of the empty ones.
        for (int partitions : new int[] {1, 7, 2500}) {
            tracker.unregisterShuffle(SHUFFLE);
            tracker.onDriver = statuses(60, partitions, 1000);
            int[][] maps = {{0, Integer.MAX_VALUE}, {0, 60}, {10, 30}, {59, 70}, {5, 5}};
            for (int[] map : maps) {
                for (int round = 0; round < 20; round++) {
                    int from = random.nextInt(partitions);
                    int to = Math.min(partitions, from + random.nextInt(4));
                    assertThat(plan(map[0], map[1], from, to))
                            .as("maps [%d, %d), partitions [%d, %d) of %d", map[0], map[1], from, to, partitions)
                            .isEqualTo(answer(map[0], map[1], from, to));
                }
            }
        }
    }

    @Test
    void shouldFetchTheStatusesOnceAndAgainInANewEpoch() {
        tracker.onDriver = statuses(20, 3, 100);
        Map<BlockManagerId, Map<Integer, List<Long>>> first = plan(0, Integer.MAX_VALUE, 0, 3);
        assertThat(plan(0, Integer.MAX_VALUE, 0, 3)).isEqualTo(first);
        assertThat(tracker.fetches).isEqualTo(1);

        // A stage was run again: other attempts, other places.
        tracker.onDriver = statuses(20, 3, 200);
        assertThat(plan(0, Integer.MAX_VALUE, 0, 3))
                .as("the executor has not heard of it")
                .isEqualTo(first);
        tracker.updateEpoch(1);
        Map<BlockManagerId, Map<Integer, List<Long>>> second = plan(0, Integer.MAX_VALUE, 0, 3);
        assertThat(tracker.fetches).isEqualTo(2);
        assertThat(second).isEqualTo(answer(0, Integer.MAX_VALUE, 0, 3));
        assertThat(second.values())
                .allSatisfy(outputs -> assertThat(outputs.values())
                        .allSatisfy(output -> assertThat(output.get(0)).isGreaterThanOrEqualTo(200)));

        tracker.unregisterShuffle(SHUFFLE);
        tracker.onDriver = statuses(20, 3, 300);
        assertThat(plan(0, Integer.MAX_VALUE, 0, 3)).isNotEqualTo(second);
    }

    @Test
    void shouldFailAsTheTrackerDoesWhenAMapOutputIsMissing() {
        tracker.onDriver = statuses(20, 3, 100);
        tracker.onDriver[13] = null;
        assertThat(plan(0, 13, 0, 3)).isEqualTo(answer(0, 13, 0, 3));
        assertThatThrownBy(() -> FetchPlan.of(tracker, SHUFFLE, 0, Integer.MAX_VALUE, 0, 3))
                .isInstanceOf(MetadataFetchFailedException.class)
                .hasMessageContaining("Missing an output location for shuffle 2");
        assertThat(tracker.mapStatuses().isEmpty())
                .as("dropped, so that they are fetched again")
                .isTrue();
    }

    @Test
    void shouldPutExecutorsInRandomOrder() {
        tracker.onDriver = statuses(60, 1, 0);
        List<BlockManagerId> first = order();
        assertThat(first).hasSize(5);
        boolean other = false;
        for (int i = 0; i < 100; i++) {
            other |= !order().equals(first);
        }
        assertThat(other).isTrue();
    }

    private List<BlockManagerId> order() {
        return List.copyOf(FetchPlan.of(tracker, SHUFFLE, 0, Integer.MAX_VALUE, 0, 1)
                .byLocation()
                .keySet());
    }
}
