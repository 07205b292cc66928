package io.verbena.shuffle.resolver;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.testing.LocalFiles;
import io.verbena.shuffle.testing.TestMemory;
import io.verbena.transport.ReadLease;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class EvictorTest {
    private static final long SEGMENT = 1 << 20;
    private static final int PARTITIONS = 3;

    @TempDir
    Path folder;

    private final SparkConf conf = new SparkConf(false);
    private final TestMemory memory = new TestMemory(SEGMENT, 1);
    private final MapOutputStore store = memory.store();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final SerializerManager serializers = new SerializerManager(new KryoSerializer(conf), conf);
    private final Jobs jobs = new Jobs();
    private LocalFiles local;
    private StockFiles files;
    private Evictor evictor;
    private BlockServer server;

    /** Keeps what is to run in the background until the test runs it. */
    private static final class Jobs implements Executor {
        private final List<Runnable> waiting = new ArrayList<>();

        @Override
        public void execute(Runnable job) {
            waiting.add(job);
        }

        void runAll() {
            List<Runnable> now = new ArrayList<>(waiting);
            waiting.clear();
            now.forEach(Runnable::run);
        }
    }

    @BeforeEach
    void setUp() {
        local = new LocalFiles(conf, folder);
        files = new StockFiles(conf, local, serializers);
        evictor = new Evictor(memory.arena(), store, files, counters, jobs, 0.5);
        server = new BlockServer(store, files, memory.transport(), counters, null);
    }

    @AfterEach
    void nothingIsLeft() {
        memory.close();
    }

    private static byte[] random(long seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static byte[][] blocks(long mapId, int bytes) {
        return new byte[][] {random(mapId, bytes), {}, random(-mapId, bytes / 2)};
    }

    /** 150 KB each, of a budget of 1 MB: the mark of one half is passed by the fourth. */
    private MapOutput.InMemory committed(int shuffleId, long mapId) {
        MapOutput.InMemory output = memory.output(mapId, BlockLayout.RECORDS, blocks(mapId, 100_000));
        store.commit(shuffleId, output);
        return output;
    }

    /** The plain bytes of a block, through a frame, whatever its layout. */
    private byte[] block(int shuffleId, long mapId, int reduceId) throws IOException {
        ManagedBuffer buffer = server.frame(shuffleId, mapId, reduceId, reduceId + 1);
        try (InputStream in = buffer.createInputStream()) {
            BlockFrame frame = BlockFrame.decode(in, reduceId, reduceId + 1);
            byte[] rest = in.readAllBytes();
            if (frame.layout() == BlockLayout.RECORDS || rest.length == 0) {
                return rest;
            }
            assertThat(frame.layout()).isEqualTo(BlockLayout.SPARK);
            return serializers
                    .wrapStream(new ShuffleBlockId(shuffleId, mapId, reduceId), new ByteArrayInputStream(rest))
                    .readAllBytes();
        } finally {
            buffer.release();
        }
    }

    private void assertBlocks(int shuffleId, long mapId, int bytes) throws IOException {
        byte[][] expected = blocks(mapId, bytes);
        for (int p = 0; p < PARTITIONS; p++) {
            assertThat(block(shuffleId, mapId, p)).isEqualTo(expected[p]);
        }
    }

    @Test
    void shouldDoNothingBelowTheMark() {
        committed(1, 1);
        evictor.maybeEvict();
        assertThat(jobs.waiting).isEmpty();
        assertThat(local.names()).isEmpty();
    }

    @Test
    void shouldEvictTheColdestUntilBelowTheMark() throws IOException {
        committed(1, 1);
        committed(1, 2);
        committed(2, 3);
        committed(3, 4);
        assertThat(store.get(1, 1)).isNotNull();
        evictor.maybeEvict();
        evictor.maybeEvict();
        assertThat(jobs.waiting).as("one eviction at a time").hasSize(1);
        jobs.runAll();

        // 600 KB down to 400 KB or less: shuffle 2 and 3, of which nothing was read lately, and no more.
        assertThat(store.get(2, 3)).isInstanceOf(MapOutput.OnDisk.class);
        assertThat(store.get(3, 4)).isInstanceOf(MapOutput.OnDisk.class);
        assertThat(store.inMemory(1)).hasSize(2);
        assertThat(counters.get(ShuffleCounter.EVICTED_MAP_OUTPUTS)).isEqualTo(2);
        assertThat(counters.get(ShuffleCounter.EVICTED_BYTES)).isBetween(300_000L, 301_000L);
        assertBlocks(1, 1, 100_000);
        assertBlocks(2, 3, 100_000);
        assertBlocks(3, 4, 100_000);

        // Below the mark now; and above it again a new eviction starts.
        evictor.maybeEvict();
        assertThat(jobs.waiting).isEmpty();
        committed(4, 5);
        committed(4, 6);
        evictor.maybeEvict();
        assertThat(jobs.waiting).hasSize(1);
        jobs.runAll();
        assertThat(memory.arena().statistics().leasedBytes()).isLessThan(SEGMENT / 2);
    }

    @Test
    void shouldNotWarmAShuffleByEvictingFromIt() {
        committed(1, 1);
        committed(1, 2);
        committed(2, 3);
        assertThat(evictor.evict(1, store.inMemory(1).get(0))).isTrue();
        assertThat(store.coldestFirst()).containsExactly(1, 2);
    }

    @Test
    void shouldKeepMemoryForAReaderThatCameBefore() throws IOException {
        MapOutput.InMemory output = committed(1, 1);
        ReadLease reader = store.lease(1);
        byte[] before = new byte[100_000];
        output.open().get(0).slice(0).get(before);
        assertThat(evictor.evict(1, output)).isTrue();
        assertThat(memory.arena().reclaim()).isZero();
        byte[] after = new byte[100_000];
        output.open().get(0).slice(0).get(after);
        assertThat(after).isEqualTo(before);
        reader.close();
        assertBlocks(1, 1, 100_000);
    }

    @Test
    void shouldNotTakeAnythingFromAFrameUnderWay() throws IOException {
        MapOutput.InMemory output = committed(1, 1);
        ManagedBuffer frame = server.frame(1, 1, 0, PARTITIONS);
        assertThat(evictor.evict(1, output)).isTrue();
        store.remove(1);
        assertThat(memory.arena().reclaim()).isZero();
        try (InputStream in = frame.createInputStream()) {
            assertThat(BlockFrame.decode(in, 0, PARTITIONS).layout()).isEqualTo(BlockLayout.RECORDS);
            assertThat(in.readNBytes(100_000)).isEqualTo(random(1, 100_000));
        }
        frame.release();
        assertThat(memory.arena().reclaim()).isBetween(0, 1);
        assertThat(memory.arena().statistics().quarantinedBytes()).isZero();
    }

    @Test
    void shouldLeaveADamagedMapOutputInMemoryAndNoFile() {
        MapOutput.InMemory output = committed(1, 1);
        output.runs().get(0).buffer().put((int) output.bytes() - 1, (byte) (random(-1, 50_000)[49_999] ^ 1));
        assertThat(evictor.evict(1, output)).isFalse();
        assertThat(store.get(1, 1)).isSameAs(output);
        assertThat(local.names()).isEmpty();
    }

    private MapOutput onDisk(int shuffleId, long mapId) {
        return new MapOutput.OnDisk(
                mapId, PARTITIONS, local.getDataFile(shuffleId, mapId).length());
    }

    @Test
    void shouldEvictOnDemand() throws IOException {
        committed(1, 1);
        committed(2, 2);
        evictor.evictIfInMemory(1, 9);
        evictor.evictIfInMemory(1, 1);
        evictor.evictIfInMemory(1, 1);
        assertThat(store.get(1, 1)).isEqualTo(onDisk(1, 1));
        evictor.evictAll();
        assertThat(store.get(2, 2)).isEqualTo(onDisk(2, 2));
        assertBlocks(1, 1, 100_000);
        assertBlocks(2, 2, 100_000);
        assertThat(counters.get(ShuffleCounter.EVICTED_MAP_OUTPUTS)).isEqualTo(2);
    }

    /** The files of a decommissioned executor arrive without a checksum file. */
    @Test
    void shouldServeAMigratedMapOutputWithoutChecksums() throws IOException {
        evictor.evict(1, committed(1, 1));
        store.remove(1);
        assertThat(local.names()).contains("shuffle_1_1_0.checksum.ADLER32");
        Files.delete(folder.resolve("shuffle_1_1_0.checksum.ADLER32"));
        assertBlocks(1, 1, 100_000);
    }

    @Test
    void shouldWriteOneFileWhenManyEvictTheSame() throws Exception {
        for (int round = 0; round < 20; round++) {
            int shuffleId = round;
            MapOutput.InMemory output = memory.output(1, BlockLayout.RECORDS, blocks(1, 2_000));
            store.commit(shuffleId, output);
            CyclicBarrier start = new CyclicBarrier(4);
            List<FutureTask<Boolean>> tasks = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                tasks.add(new FutureTask<>(() -> {
                    start.await(10, TimeUnit.SECONDS);
                    return evictor.evict(shuffleId, output);
                }));
            }
            boolean remove = round % 2 == 0;
            tasks.add(new FutureTask<>(() -> {
                start.await(10, TimeUnit.SECONDS);
                if (remove) {
                    store.remove(shuffleId).forEach(mapId -> files.remove(shuffleId, mapId));
                }
                return false;
            }));
            tasks.forEach(task -> new Thread(task, "verbena-test").start());
            int evicted = 0;
            for (FutureTask<Boolean> task : tasks) {
                evicted += task.get(20, TimeUnit.SECONDS) ? 1 : 0;
            }
            if (remove) {
                assertThat(evicted).isBetween(0, 1);
                store.remove(shuffleId).forEach(mapId -> files.remove(shuffleId, mapId));
                assertThat(local.names()).noneMatch(name -> name.startsWith("shuffle_" + shuffleId + "_"));
            } else {
                assertThat(evicted).isEqualTo(1);
                assertBlocks(shuffleId, 1, 2_000);
            }
        }
    }
}
