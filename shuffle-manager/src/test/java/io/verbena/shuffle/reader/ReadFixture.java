package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.shuffle.testing.TestExecutor;
import io.verbena.transport.Transport;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.FetchFailed;
import org.apache.spark.SparkConf;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** One reduce task that reads from its own executor and two others; asserts at the end that nothing is left. */
abstract class ReadFixture {
    static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    static final int SHUFFLE = 4;
    static final int PARTITIONS = 6;
    static final long TIMEOUT_MS = 300;

    @TempDir
    Path folder;

    final KryoSerializer serializer = new KryoSerializer(new SparkConf(false));
    final TestNetwork network = new TestNetwork();
    final ShuffleCounters counters = new ShuffleCounters();
    final TempShuffleReadMetrics metrics = new TempShuffleReadMetrics();
    final List<SourceQueue> queues = new ArrayList<>();
    final Map<TestExecutor, List<MapRef>> refs = new LinkedHashMap<>();
    TestExecutor self;
    TestExecutor near;
    TestExecutor far;
    ViewTransport views;
    PeerRegistry peers;
    int mapIndex;
    int partitions = PARTITIONS;
    long maxBytesInFlight = 5_000;
    long timeoutMs = TIMEOUT_MS;

    @BeforeEach
    void setUp() {
        self = new TestExecutor("self", folder, 1 << 20, 8, 1 << 16, false, null);
        near = new TestExecutor("near", folder, 1 << 20, 8, 1 << 16, false, null);
        far = new TestExecutor("far", folder, 1 << 20, 8, 1 << 16, false, null);
        for (TestExecutor executor : List.of(self, near, far)) {
            network.add(executor);
            refs.put(executor, new ArrayList<>());
        }
        views = new ViewTransport(self.memory().transport());
        peers = new PeerRegistry(resources(views));
    }

    @AfterEach
    void nothingIsLeft() {
        queues.forEach(SourceQueue::close);
        peers.closeIdle(0);
        assertThat(peers.size()).isZero();
        assertThat(views.leases).hasValue(0);
        network.assertAllReleased();
        peers.close();
        for (TestExecutor executor : List.of(near, far, self)) {
            assertThat(executor.memory().transport().unread(SHUFFLE)).isTrue();
            executor.close();
        }
    }

    PeerResources resources(Transport transport) {
        return new PeerResources(transport, self.memory().arena(), network, counters, Runnable::run, timeoutMs, 30_000);
    }

    static String record(long mapId, int partition, int i) {
        return "map " + mapId + " partition " + partition + " record " + i + " "
                + "x".repeat((int) (mapId * 7 + i) % 60);
    }

    /** Partition 3 of every third map output is empty. */
    static int count(long mapId, int partition) {
        return partition == 3 && mapId % 3 == 0 ? 0 : 1 + (int) (mapId + partition) % 9;
    }

    byte[] stream(long mapId, int partition, int from, int to) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        SerializationStream out = serializer.newInstance().serializeStream(bytes);
        for (int i = from; i < to; i++) {
            out.writeKey(partition, ANY);
            out.writeValue(record(mapId, partition, i), ANY);
        }
        out.close();
        return bytes.toByteArray();
    }

    byte[] wrapped(TestExecutor executor, long mapId, int partition, byte[] plain) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out =
                executor.serializers().wrapStream(new ShuffleBlockId(SHUFFLE, mapId, partition), bytes)) {
            out.write(plain);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return bytes.toByteArray();
    }

    MapRef commit(TestExecutor executor, long mapId, BlockLayout layout, boolean onDisk) {
        byte[][] first = new byte[partitions][];
        byte[][] second = new byte[partitions][];
        for (int p = 0; p < partitions; p++) {
            int count = count(mapId, p);
            switch (layout) {
                case RECORDS -> {
                    first[p] = stream(mapId, p, 0, count / 2);
                    second[p] = stream(mapId, p, count / 2, count);
                }
                case WRAPPED -> {
                    first[p] = count < 2 ? new byte[0] : wrapped(executor, mapId, p, stream(mapId, p, 0, count / 2));
                    second[p] =
                            count == 0 ? new byte[0] : wrapped(executor, mapId, p, stream(mapId, p, count / 2, count));
                }
                case SPARK -> {
                    // One stream, cut where a run was full.
                    byte[] all = count == 0 ? new byte[0] : wrapped(executor, mapId, p, stream(mapId, p, 0, count));
                    int cut = (int) (all.length * (mapId % 4) / 4);
                    first[p] = Arrays.copyOf(all, cut);
                    second[p] = Arrays.copyOfRange(all, cut, all.length);
                }
                default -> throw new IllegalArgumentException("layout=" + layout);
            }
        }
        MapOutput.InMemory output = executor.memory().output(mapId, layout, first, second);
        if (onDisk) {
            try {
                long[] lengths = executor.files().write(SHUFFLE, mapId, partitions, output.open(), null);
                executor.store()
                        .commit(
                                SHUFFLE,
                                new MapOutput.OnDisk(
                                        mapId,
                                        partitions,
                                        Arrays.stream(lengths).sum()));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
            output.runs().forEach(RegisteredBuffer::release);
        } else {
            executor.store().commit(SHUFFLE, output);
        }
        MapRef ref = new MapRef(executor.id(), mapId, 100 + mapIndex++, 0, partitions, 1000);
        refs.get(executor).add(ref);
        return ref;
    }

    /** Map outputs of every layout, in memory and on disk. */
    void commitMixture(TestExecutor executor, long firstMapId) {
        long mapId = firstMapId;
        for (int i = 0; i < 3; i++) {
            commit(executor, mapId++, BlockLayout.RECORDS, false);
            commit(executor, mapId++, BlockLayout.SPARK, false);
            commit(executor, mapId++, BlockLayout.WRAPPED, false);
            commit(executor, mapId++, BlockLayout.RECORDS, true);
            commit(executor, mapId++, BlockLayout.WRAPPED, true);
        }
        executor.store().commit(SHUFFLE, executor.memory().output(mapId, BlockLayout.RECORDS));
    }

    SourceQueue queue(int from, int to, boolean inPlace) {
        return queue(from, to, inPlace, metrics);
    }

    SourceQueue queue(int from, int to, boolean inPlace, TempShuffleReadMetrics report) {
        Map<BlockManagerId, List<MapRef>> plan = new LinkedHashMap<>();
        refs.forEach((executor, all) -> {
            if (!all.isEmpty()) {
                plan.put(
                        executor.id(),
                        all.stream()
                                .map(r ->
                                        new MapRef(r.location(), r.mapId(), r.mapIndex(), from, to, r.estimatedBytes()))
                                .toList());
            }
        });
        return queue(new FetchPlan(plan), partitions, inPlace, report);
    }

    SourceQueue queue(FetchPlan plan, int allPartitions, boolean inPlace, TempShuffleReadMetrics report) {
        ReaderResources resources = new ReaderResources(
                "self",
                self.store(),
                self.server(),
                inPlace ? peers : null,
                network,
                self.serializers(),
                timeoutMs,
                maxBytesInFlight,
                1 << 20,
                () -> folder.resolve("download").toFile(),
                true);
        SourceQueue queue = new SourceQueue(resources, SHUFFLE, allPartitions, report, counters);
        queues.add(queue);
        queue.start(plan);
        return queue;
    }

    List<String> read(SourceQueue queue, List<String> into) {
        RecordDecoder decoder =
                new RecordDecoder(queue, serializer.newInstance(), self.serializers(), null, SHUFFLE, metrics);
        long before = metrics.recordsRead();
        while (decoder.hasNext()) {
            into.add((String) ((Tuple2<?, ?>) decoder.next())._2());
        }
        assertThat(metrics.recordsRead() - before).isEqualTo(into.size());
        return into;
    }

    List<String> read(int from, int to, boolean inPlace) {
        return read(queue(from, to, inPlace), new ArrayList<>());
    }

    List<String> expected(int from, int to) {
        List<String> all = new ArrayList<>();
        refs.values()
                .forEach(list -> list.forEach(ref -> {
                    for (int p = from; p < to; p++) {
                        for (int i = 0; i < count(ref.mapId(), p); i++) {
                            all.add(record(ref.mapId(), p, i));
                        }
                    }
                }));
        Collections.sort(all);
        return all;
    }

    static List<String> sorted(List<String> records) {
        Collections.sort(records);
        return records;
    }

    /** Reads until it fails and checks that the failure blames the right map output at the right executor. */
    FetchFailed assertFetchFails(MapRef blamed, boolean inPlace, String... message) {
        List<String> got = new ArrayList<>();
        SourceQueue queue = queue(0, PARTITIONS, inPlace);
        Throwable failure = catchThrowable(() -> read(queue, got));
        assertThat(failure).isInstanceOf(FetchFailedException.class);
        FetchFailed reason = (FetchFailed) ((FetchFailedException) failure).toTaskFailedReason();
        assertThat(reason.bmAddress()).isEqualTo(blamed.location());
        assertThat(reason.shuffleId()).isEqualTo(SHUFFLE);
        assertThat(reason.mapId()).isEqualTo(blamed.mapId());
        assertThat(reason.mapIndex()).isEqualTo(blamed.mapIndex());
        assertThat(reason.reduceId()).isZero();
        assertThat(failure.getMessage())
                .contains("executor " + blamed.location().executorId())
                .contains(message);
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isEqualTo(1);
        assertThat(expected(0, PARTITIONS)).containsAll(got);
        assertThat(got).noneMatch(record -> record.startsWith("map " + blamed.mapId() + " "));
        queue.close();
        return reason;
    }
}
