package io.verbena.shuffle.resolver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.arena.ArenaStatistics;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.pairs.PairTranscoder;
import io.verbena.shuffle.testing.TestMemory;
import io.verbena.transport.ReadLease;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MapOutputStoreTest {
    private static final long SEGMENT = 1 << 20;
    private final TestMemory memory = new TestMemory(SEGMENT, 2);
    private final MapOutputStore store = memory.store();

    @AfterEach
    void nothingIsLeft() {
        memory.close();
    }

    private MapOutput.InMemory output(long mapId) {
        return memory.output(mapId, BlockLayout.RECORDS, new byte[][] {{1, 2}, {}, {(byte) mapId}});
    }

    private MapOutput.InMemory committed(int shuffleId, long mapId) {
        MapOutput.InMemory output = output(mapId);
        store.commit(shuffleId, output);
        return output;
    }

    @Test
    void shouldShowAMapOutputFromItsCommitToItsRemoval() throws Exception {
        assertThat(store.get(1, 7)).isNull();
        assertThat(store.directory(1).outputs()).isEmpty();
        MapOutput.InMemory output = committed(1, 7);
        assertThat(store.get(1, 7)).isSameAs(output);
        assertThat(store.get(1, 8)).isNull();
        assertThat(store.get(2, 7)).isNull();
        assertThat(store.shuffleIds()).containsExactly(1);
        assertThat(store.inMemory(1)).containsExactly(output);
        assertThat(store.directory(1).outputs())
                .containsOnly(Map.entry(7L, MapOutputDirectory.Entry.inMemory(output.locations())));
        RunImage run = output.open().get(0);
        run.verify(0);
        assertThat(run.slice(2).get()).isEqualTo((byte) 7);

        assertThat(store.remove(1)).isEmpty();
        assertThat(store.get(1, 7)).isNull();
        assertThat(store.shuffleIds()).isEmpty();
        assertThat(memory.arena().statistics().leases()).isZero();
    }

    @Test
    void shouldFindForATaskWhatIsHereAndNothingThatIsGone() {
        assertThat(store.outputs(1).apply(7)).isNull();
        MapOutput.InMemory output = committed(1, 7);
        LongFunction<MapOutput> outputs = store.outputs(1);
        assertThat(outputs.apply(7)).isSameAs(output);
        assertThat(outputs.apply(8)).isNull();
        MapOutput.InMemory later = committed(1, 8);
        assertThat(outputs.apply(8)).isSameAs(later);
        store.remove(1);
        committed(1, 7);
        assertThat(outputs.apply(7)).isNull();
        assertThat(store.outputs(1).apply(7)).isNotNull();
    }

    /** A serializer for every map output would be a Kryo for every map output. */
    @Test
    void shouldKeepOneTranscoderForAShuffle() {
        KryoSerializer serializer = new KryoSerializer(new SparkConf(false));
        PairTranscoder first = new PairTranscoder(serializer);
        store.commit(1, memory.output(1, BlockLayout.PAIRS, new byte[][] {{1}}).with(first));
        store.commit(1, memory.output(2, BlockLayout.PAIRS, new byte[][] {{1}}).with(new PairTranscoder(serializer)));
        PairTranscoder other = new PairTranscoder(serializer);
        store.commit(2, memory.output(3, BlockLayout.PAIRS, new byte[][] {{1}}).with(other));
        assertThat(store.inMemory(1)).extracting(MapOutput.InMemory::transcoder).containsExactly(first, first);
        assertThat(store.inMemory(2)).extracting(MapOutput.InMemory::transcoder).containsExactly(other);
    }

    @Test
    void shouldIgnoreTheRemovalOfWhatIsNotThere() {
        assertThat(store.remove(3)).isEmpty();
        committed(4, 1);
        assertThat(store.remove(3)).isEmpty();
        assertThat(store.get(4, 1)).isNotNull();
        assertThat(store.remove(4)).isEmpty();
        assertThat(store.remove(4)).isEmpty();
    }

    @Test
    void shouldRefuseASecondCommitOfTheSameMapOutput() {
        MapOutput.InMemory first = committed(1, 7);
        MapOutput.InMemory second = output(7);
        assertThatThrownBy(() -> store.commit(1, second))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("committed twice")
                .hasMessageContaining("mapId=7");
        assertThat(store.get(1, 7)).isSameAs(first);
        // The refused leases are still the caller's.
        second.runs().forEach(RegisteredBuffer::release);
    }

    @Test
    void shouldTakeACommitAfterARemoval() {
        committed(1, 7);
        store.remove(1);
        MapOutput.InMemory again = committed(1, 8);
        assertThat(store.get(1, 8)).isSameAs(again);
        assertThat(store.get(1, 7)).isNull();
    }

    @Test
    void shouldListMapIdsOnDiskWhenRemoved() {
        committed(1, 7);
        MapOutput.InMemory moved = committed(1, 8);
        store.commit(1, new MapOutput.OnDisk(9, 3, 12));
        assertThat(store.moveToDisk(1, moved, 34)).isTrue();
        assertThat(store.get(1, 8)).isEqualTo(new MapOutput.OnDisk(8, 3, 34));
        assertThat(store.remove(1)).containsExactlyInAnyOrder(8L, 9L);
    }

    /** A directory or a count may be under way while the output is withdrawn, when its leases are dead already. */
    @Test
    void shouldDescribeAMapOutputWhoseMemoryHasRetired() {
        MapOutput.InMemory output = committed(1, 7);
        long bytes = output.bytes();
        assertThat(store.moveToDisk(1, output, 34)).isTrue();
        assertThat(output.bytes()).isEqualTo(bytes).isPositive();
        assertThat(output.locations()).hasSize(1);
        assertThat(output.locations().get(0).length()).isEqualTo(bytes);
    }

    @Test
    void shouldKeepMemoryWhileAReaderHoldsALease() {
        MapOutput.InMemory output = committed(1, 7);
        ByteBuffer bytes = output.runs().get(0).buffer();
        long retired = output.bytes();
        ReadLease lease = store.lease(1);
        ReadLease other = store.lease(2);
        store.remove(1);
        assertThat(memory.arena().reclaim()).isZero();
        ArenaStatistics held = memory.arena().statistics();
        assertThat(held.leases()).isZero();
        assertThat(held.quarantinedBytes()).isGreaterThanOrEqualTo(retired);
        // Fill all other memory with other content: what the reader sees does not change.
        byte[] before = new byte[bytes.remaining()];
        bytes.get(0, before);
        List<RegisteredBuffer> others = new ArrayList<>();
        for (RegisteredBuffer b = memory.arena().tryAcquire(8192);
                b != null;
                b = memory.arena().tryAcquire(8192)) {
            b.buffer().put(new byte[8192]);
            others.add(b);
        }
        byte[] after = new byte[bytes.remaining()];
        bytes.get(0, after);
        assertThat(after).isEqualTo(before);
        lease.close();
        // Some other thread of the arena may have been faster.
        assertThat(memory.arena().reclaim()).isBetween(0, 1);
        assertThat(memory.arena().statistics().quarantinedBytes()).isZero();
        others.forEach(RegisteredBuffer::release);
        other.close();
    }

    @Test
    void shouldNotMoveToDiskWhatWasRemovedOrReplaced() {
        MapOutput.InMemory output = committed(1, 7);
        assertThat(store.holds(1, output)).isTrue();
        store.remove(1);
        assertThat(store.holds(1, output)).isFalse();
        assertThat(store.moveToDisk(1, output, 34)).isFalse();
        MapOutput.InMemory again = committed(1, 7);
        assertThat(store.moveToDisk(1, output, 34)).isFalse();
        assertThat(store.moveToDisk(1, again, 34)).isTrue();
        assertThat(store.moveToDisk(1, again, 34)).isFalse();
        assertThat(store.inMemory(1)).isEmpty();
    }

    @Test
    void shouldOrderShufflesByTheirLastUse() {
        committed(1, 1);
        committed(2, 1);
        committed(3, 1);
        store.commit(4, new MapOutput.OnDisk(1, 3, 56));
        assertThat(store.coldestFirst()).containsExactly(1, 2, 3);
        assertThat(store.get(1, 1)).isNotNull();
        assertThat(store.directory(2).outputs()).hasSize(1);
        assertThat(store.coldestFirst()).containsExactly(3, 1, 2);
        store.moveToDisk(3, store.inMemory(3).get(0), 34);
        assertThat(store.coldestFirst()).containsExactly(1, 2);
    }

    /** Releasing a lease twice throws in the arena, and one that is never released fails the teardown. */
    @Test
    void shouldRetireEveryLeaseOnceWhenCommitsRemovalsAndEvictionsRace() throws Exception {
        for (int round = 0; round < 150; round++) {
            int shuffleId = round;
            List<MapOutput.InMemory> outputs = new ArrayList<>();
            for (long mapId = 0; mapId < 12; mapId++) {
                outputs.add(output(mapId));
            }
            outputs.subList(0, 6).forEach(output -> store.commit(shuffleId, output));
            CyclicBarrier start = new CyclicBarrier(5);
            Callable<Set<Long>> mover = () -> {
                Set<Long> moved = new HashSet<>();
                start.await(10, TimeUnit.SECONDS);
                for (MapOutput.InMemory output : outputs) {
                    if (store.moveToDisk(shuffleId, output, 34)) {
                        moved.add(output.mapId());
                    }
                }
                return moved;
            };
            Callable<Set<Long>> remover = () -> {
                start.await(10, TimeUnit.SECONDS);
                return new HashSet<>(store.remove(shuffleId));
            };
            List<FutureTask<Set<Long>>> tasks = List.of(
                    new FutureTask<>(mover),
                    new FutureTask<>(mover),
                    new FutureTask<>(remover),
                    new FutureTask<>(() -> {
                        start.await(10, TimeUnit.SECONDS);
                        outputs.subList(6, 12).forEach(output -> store.commit(shuffleId, output));
                        return Set.of();
                    }),
                    new FutureTask<>(() -> {
                        start.await(10, TimeUnit.SECONDS);
                        Set<Long> seen = new HashSet<>();
                        for (int i = 0; i < 20; i++) {
                            seen.addAll(store.directory(shuffleId).outputs().keySet());
                            store.inMemory(shuffleId)
                                    .forEach(
                                            output -> assertThat(output.bytes()).isPositive());
                        }
                        return seen;
                    }));
            tasks.forEach(task -> new Thread(task, "verbena-test").start());
            List<Set<Long>> results = new ArrayList<>();
            for (FutureTask<Set<Long>> task : tasks) {
                results.add(task.get(20, TimeUnit.SECONDS));
            }
            // One mover at most has moved an output, and whoever removed the shuffle after a move hears of the file.
            assertThat(Collections.disjoint(results.get(0), results.get(1))).isTrue();
            Set<Long> files = new HashSet<>(results.get(2));
            files.addAll(store.remove(shuffleId));
            Set<Long> moved = new HashSet<>(results.get(0));
            moved.addAll(results.get(1));
            assertThat(files).isEqualTo(moved);
            assertThat(memory.arena().statistics().leases()).isZero();
        }
    }
}
