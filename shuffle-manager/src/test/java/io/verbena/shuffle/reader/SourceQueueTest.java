package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.shuffle.testing.TestExecutor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.Adler32;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** One reduce task that reads from its own executor and two others, each way. */
@Timeout(120)
class SourceQueueTest {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final int SHUFFLE = 4;
    private static final int PARTITIONS = 6;
    private static final long TIMEOUT_MS = 300;

    @TempDir
    Path folder;

    private final KryoSerializer serializer = new KryoSerializer(new SparkConf(false));
    private final TestNetwork network = new TestNetwork();
    private final ShuffleCounters counters = new ShuffleCounters();
    private final TempShuffleReadMetrics metrics = new TempShuffleReadMetrics();
    private final List<SourceQueue> queues = new ArrayList<>();
    private final Map<TestExecutor, List<MapRef>> refs = new LinkedHashMap<>();
    private TestExecutor self;
    private TestExecutor near;
    private TestExecutor far;
    private ViewTransport views;
    private PeerRegistry peers;
    private int mapIndex;

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
        peers = new PeerRegistry(views, network, counters, Runnable::run, TIMEOUT_MS);
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

    private static String record(long mapId, int partition, int i) {
        return "map " + mapId + " partition " + partition + " record " + i + " "
                + "x".repeat((int) (mapId * 7 + i) % 60);
    }

    /** Partition 3 of every third map output is empty. */
    private static int count(long mapId, int partition) {
        return partition == 3 && mapId % 3 == 0 ? 0 : 1 + (int) (mapId + partition) % 9;
    }

    private byte[] stream(long mapId, int partition, int from, int to) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        SerializationStream out = serializer.newInstance().serializeStream(bytes);
        for (int i = from; i < to; i++) {
            out.writeKey(partition, ANY);
            out.writeValue(record(mapId, partition, i), ANY);
        }
        out.close();
        return bytes.toByteArray();
    }

    private byte[] wrapped(TestExecutor executor, long mapId, int partition, byte[] plain) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out =
                executor.serializers().wrapStream(new ShuffleBlockId(SHUFFLE, mapId, partition), bytes)) {
            out.write(plain);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return bytes.toByteArray();
    }

    private MapRef commit(TestExecutor executor, long mapId, BlockLayout layout, boolean onDisk) {
        byte[][] first = new byte[PARTITIONS][];
        byte[][] second = new byte[PARTITIONS][];
        for (int p = 0; p < PARTITIONS; p++) {
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
                executor.files().write(SHUFFLE, mapId, PARTITIONS, output.open());
            } catch (IOException e) {
                throw new AssertionError(e);
            }
            output.runs().forEach(RegisteredBuffer::release);
            executor.store().commit(SHUFFLE, new MapOutput.OnDisk(mapId, PARTITIONS));
        } else {
            executor.store().commit(SHUFFLE, output);
        }
        MapRef ref = new MapRef(executor.id(), mapId, 100 + mapIndex++, 0, PARTITIONS, 1000);
        refs.get(executor).add(ref);
        return ref;
    }

    /** Map outputs of every layout, in memory and on disk. */
    private void commitMixture(TestExecutor executor, long firstMapId) {
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

    private SourceQueue queue(int from, int to, boolean inPlace) {
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
        ReaderResources resources = new ReaderResources(
                "self",
                self.store(),
                self.server(),
                inPlace ? peers : null,
                network,
                self.serializers(),
                TIMEOUT_MS,
                5_000,
                1 << 20,
                () -> folder.resolve("download").toFile());
        SourceQueue queue = new SourceQueue(resources, SHUFFLE, PARTITIONS, metrics, counters);
        queues.add(queue);
        queue.start(new FetchPlan(plan));
        return queue;
    }

    private List<String> read(SourceQueue queue, List<String> into) {
        RecordDecoder decoder =
                new RecordDecoder(queue, serializer.newInstance(), self.serializers(), null, SHUFFLE, metrics);
        long before = metrics.recordsRead();
        while (decoder.hasNext()) {
            into.add((String) ((Tuple2<?, ?>) decoder.next())._2());
        }
        assertThat(metrics.recordsRead() - before).isEqualTo(into.size());
        return into;
    }

    private List<String> read(int from, int to, boolean inPlace) {
        return read(queue(from, to, inPlace), new ArrayList<>());
    }

    private List<String> expected(int from, int to) {
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

    private static List<String> sorted(List<String> records) {
        Collections.sort(records);
        return records;
    }

    /** Reads until it fails and checks that the failure blames the right map output at the right executor. */
    private FetchFailed assertFetchFails(MapRef blamed, boolean inPlace, String... message) {
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

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadEqualRecordsEveryWay(boolean inPlace) {
        commitMixture(self, 10);
        commitMixture(near, 30);
        commitMixture(far, 50);
        for (int[] range : new int[][] {{0, PARTITIONS}, {0, 1}, {3, 4}, {2, 5}, {5, 6}}) {
            assertThat(sorted(read(range[0], range[1], inPlace))).isEqualTo(expected(range[0], range[1]));
        }
        assertThat(counters.get(ShuffleCounter.READ_SELF_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_LOCAL_FILE_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_MAPPED_BYTES) > 0).isEqualTo(inPlace);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        assertThat(metrics.localBytesRead() + metrics.remoteBytesRead())
                .isEqualTo(counters.get(ShuffleCounter.READ_SELF_BYTES)
                        + counters.get(ShuffleCounter.READ_LOCAL_FILE_BYTES)
                        + counters.get(ShuffleCounter.READ_NETTY_BYTES)
                        + counters.get(ShuffleCounter.READ_MAPPED_BYTES));
        // One directory per peer for all tasks.
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(inPlace ? 2 : 0);
    }

    @Test
    void shouldFetchInFramesFromAPeerThatCannotBeViewed() {
        peers.close();
        peers = new PeerRegistry(self.memory().transport(), network, counters, Runnable::run, TIMEOUT_MS);
        commitMixture(near, 10);
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.READ_MAPPED_BYTES)).isZero();
    }

    @Test
    void shouldReadNothingFromNothing() {
        assertThat(read(0, PARTITIONS, true)).isEmpty();
        assertThat(network.requests).isEmpty();
    }

    @Test
    void shouldFetchAMapOutputWhoseViewIsDamaged() {
        commitMixture(near, 10);
        // The last data byte of one of the runs, once.
        AtomicInteger opened = new AtomicInteger();
        views.damage = view -> {
            if (opened.getAndIncrement() == 5) {
                view.put(view.capacity() - 1, (byte) (view.get(view.capacity() - 1) ^ 0x20));
            }
            return view;
        };
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(1);
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isZero();
    }

    @Test
    void shouldFetchAMapOutputWhoseIndexIsDamagedInTheView() {
        commit(near, 10, BlockLayout.RECORDS, false);
        for (int at = 0; at < 64 + 8 * PARTITIONS + 4; at++) {
            int damaged = at;
            views.damage = view -> view.put(damaged, (byte) (view.get(damaged) ^ 1));
            assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
            assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(at + 1);
            queues.forEach(SourceQueue::close);
            peers.closeIdle(0);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldFailTheFetchWhenThePeersMemoryIsDamaged(boolean inPlace) {
        commit(near, 10, BlockLayout.RECORDS, false);
        MapRef blamed = commit(near, 11, BlockLayout.RECORDS, false);
        commit(far, 12, BlockLayout.SPARK, false);
        MapOutput.InMemory output = (MapOutput.InMemory) near.store().get(SHUFFLE, 11);
        ByteBuffer run = output.runs().get(0).buffer();
        int at = (int) RunImage.overhead(PARTITIONS);
        run.put(at, (byte) (run.get(at) ^ 1));
        assertFetchFails(blamed, inPlace, "checksum");
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(inPlace ? 1 : 0);
    }

    @Test
    void shouldFailTheFetchWhenItsOwnMemoryIsDamaged() {
        MapRef blamed = commit(self, 11, BlockLayout.WRAPPED, false);
        MapOutput.InMemory output = (MapOutput.InMemory) self.store().get(SHUFFLE, 11);
        ByteBuffer run = output.runs().get(0).buffer();
        run.put(run.capacity() - 1, (byte) ~run.get(run.capacity() - 1));
        assertFetchFails(blamed, true, "checksum");
    }

    @Test
    void shouldDetectEveryFlippedByteOfAFrame() {
        MapRef blamed = commit(near, 10, BlockLayout.WRAPPED, false);
        AtomicInteger length = new AtomicInteger();
        network.faults((id, bytes) -> {
            length.set(bytes.length);
            return bytes;
        });
        assertThat(sorted(read(0, PARTITIONS, false))).isEqualTo(expected(0, PARTITIONS));
        Random random = new Random(61);
        int slices = 2 * PARTITIONS;
        for (int at = 0; at < length.get(); at += at < 20 + 20 * slices ? 1 : 1 + random.nextInt(20)) {
            int flipped = at;
            network.faults((id, bytes) -> {
                bytes[flipped] ^= 4;
                return bytes;
            });
            List<String> got = new ArrayList<>();
            SourceQueue queue = queue(0, PARTITIONS, false);
            Throwable failure = catchThrowable(() -> read(queue, got));
            assertThat(failure).as("byte %d", at).isInstanceOf(FetchFailedException.class);
            // Slices before the damaged one are whole records; nothing else was handed out.
            assertThat(expected(0, PARTITIONS)).containsAll(got);
            assertThat(((FetchFailed) ((FetchFailedException) failure).toTaskFailedReason()).mapId())
                    .isEqualTo(blamed.mapId());
            queue.close();
        }
    }

    @Test
    void shouldDetectAFrameThatIsCutOrPadded() {
        MapRef blamed = commit(near, 10, BlockLayout.SPARK, true);
        network.faults((id, bytes) -> Arrays.copyOf(bytes, bytes.length - 1));
        assertFetchFails(blamed, false, "cut or padded");
    }

    @Test
    void shouldDetectAPaddedFrame() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> Arrays.copyOf(bytes, bytes.length + 1));
        assertFetchFails(blamed, false, "cut or padded");
    }

    @Test
    void shouldBlameThePeerForADamagedDirectory() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> {
            if (id.equals(ReservedBlocks.directory(SHUFFLE))) {
                bytes[bytes.length - 1] ^= 1;
            }
            return bytes;
        });
        assertFetchFails(blamed, true, "directory", "checksum");
    }

    @Test
    void shouldBlameThePeerForAnotherProtocolVersion() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> {
            if (id.equals(ReservedBlocks.directory(SHUFFLE))) {
                ByteBuffer.wrap(bytes).putInt(4, 9);
            }
            return bytes;
        });
        assertFetchFails(blamed, true, "theirs=9", "ours=1");
    }

    @Test
    void shouldBlameThePeerForADamagedEndpointDescriptor() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> {
            if (id.equals(ReservedBlocks.endpoint())) {
                bytes[bytes.length / 2] ^= 1;
            }
            return bytes;
        });
        assertFetchFails(blamed, true, "endpoint descriptor");
    }

    @Test
    void shouldBlameThePeerForARefusedBlock() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        commit(far, 11, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> {
            if (id.startsWith("shuffle_" + SHUFFLE + "_10_")) {
                throw new IOException("the peer refuses");
            }
            return bytes;
        });
        assertFetchFails(blamed, false, "the peer refuses");
    }

    @Test
    void shouldBlameThePeerThatLostAMapOutput() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        near.store().remove(SHUFFLE);
        assertFetchFails(blamed, true, "not on this executor");
    }

    @Test
    void shouldFailWhenItsOwnMapOutputIsGone() {
        MapRef blamed = commit(self, 10, BlockLayout.RECORDS, false);
        self.store().remove(SHUFFLE);
        assertFetchFails(blamed, true, "not on this executor");
    }

    @Test
    void shouldBlameASilentPeerAfterTheDeadline() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        commit(far, 11, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> id.startsWith("shuffle_" + SHUFFLE + "_10_") ? null : bytes);
        assertFetchFails(blamed, false, "within " + TIMEOUT_MS + " ms", "spark.shuffle.rdma.fetch.timeout");
    }

    @Test
    void shouldBlameAPeerThatDoesNotTellItsDirectory() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        network.faults((id, bytes) -> id.equals(ReservedBlocks.directory(SHUFFLE)) ? null : bytes);
        assertFetchFails(blamed, true, "no answer", "within " + TIMEOUT_MS + " ms");
        // The next task asks again.
        network.faults((id, bytes) -> bytes);
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
    }

    @Test
    void shouldRefreshADirectoryOnceForMapOutputsThatAppearedLater() {
        commit(near, 10, BlockLayout.RECORDS, false);
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        commit(near, 11, BlockLayout.RECORDS, false);
        commit(near, 12, BlockLayout.SPARK, false);
        refs.get(near).add(new MapRef(near.id(), 13, 200, 0, PARTITIONS, 10));
        commitLost(13);
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(2);
        assertThat(network.requests("shuffle_" + SHUFFLE + "_11_")).isZero();
        // Not in the directory even now, which is remembered: the block transfer, and no further look.
        assertThat(network.requests("shuffle_" + SHUFFLE + "_13_")).isEqualTo(1);
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(2);
    }

    /** A file here that the store does not know, as Spark's migration leaves it. */
    private void commitLost(long mapId) {
        List<MapRef> known = List.copyOf(refs.get(near));
        commit(near, mapId, BlockLayout.RECORDS, true);
        refs.get(near).retainAll(known);
        Map<Long, MapOutput> kept = new LinkedHashMap<>();
        for (MapRef ref : known) {
            if (ref.mapId() != mapId) {
                kept.put(ref.mapId(), near.store().get(SHUFFLE, ref.mapId()));
            }
        }
        network.faults((id, bytes) -> {
            if (!id.equals(ReservedBlocks.directory(SHUFFLE))) {
                return bytes;
            }
            Map<Long, MapOutputDirectory.Entry> entries = new LinkedHashMap<>(
                    MapOutputDirectory.decode(bytes, SHUFFLE).outputs());
            entries.keySet().retainAll(kept.keySet());
            return new MapOutputDirectory(SHUFFLE, entries).encode();
        });
    }

    @Test
    void shouldLearnOfSegmentsThatCameLater() {
        commit(near, 10, BlockLayout.RECORDS, false);
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        // Fills the first segment, so that the next map output lies in another one.
        RegisteredBuffer filler = near.memory().arena().tryAcquire((1 << 20) - 8192);
        RegisteredBuffer rest = near.memory().arena().tryAcquire(1 << 19);
        commit(near, 11, BlockLayout.RECORDS, false);
        long endpoints = network.requests(ReservedBlocks.endpoint());
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(network.requests("shuffle_" + SHUFFLE + "_11_")).isZero();
        assertThat(network.requests(ReservedBlocks.endpoint())).isLessThanOrEqualTo(endpoints + 1);
        filler.release();
        rest.release();
    }

    @Test
    void shouldEndEverythingWhenTheTaskEndsEarly() {
        commitMixture(self, 10);
        commitMixture(near, 30);
        commitMixture(far, 50);
        for (int stopAfter : new int[] {0, 1, 100, 250, 400}) {
            SourceQueue queue = queue(0, PARTITIONS, true);
            RecordDecoder decoder =
                    new RecordDecoder(queue, serializer.newInstance(), self.serializers(), null, SHUFFLE, metrics);
            for (int i = 0; i < stopAfter; i++) {
                assertThat(decoder.hasNext()).isTrue();
                decoder.next();
            }
            assertThat(self.memory().transport().unread(SHUFFLE)).isFalse();
            queue.close();
            queue.close();
            network.assertAllReleased();
            assertThat(self.memory().transport().unread(SHUFFLE)).isTrue();
        }
    }

    @Test
    void shouldKeepALeaseForTheNextTaskUntilItIsIdleOrForgotten() {
        commit(near, 10, BlockLayout.RECORDS, false);
        SourceQueue first = queue(0, PARTITIONS, true);
        SourceQueue second = queue(0, PARTITIONS, true);
        assertThat(views.leases).hasValue(1);
        read(first, new ArrayList<>());
        first.close();
        peers.closeIdle(0);
        peers.forget(SHUFFLE);
        assertThat(views.leases).as("the second task still reads").hasValue(1);
        assertThat(sorted(read(second, new ArrayList<>()))).isEqualTo(expected(0, PARTITIONS));
        second.close();
        peers.closeIdle(TimeUnit.HOURS.toNanos(1));
        peers.forget(SHUFFLE + 1);
        assertThat(views.leases).hasValue(1);
        assertThat(near.memory().transport().unread(SHUFFLE)).isFalse();
        peers.forget(SHUFFLE);
        assertThat(views.leases).hasValue(0);
        assertThat(near.memory().transport().unread(SHUFFLE)).isTrue();
        assertThat(peers.size()).isZero();
        // A new task gets a new lease, and never what was learnt under the old one.
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(2);
    }

    /** The pool for opening peers may run its work on the caller's thread, and that work waits for the peer. */
    @Test
    void shouldNotHoldItsLockWhileAPeerIsAsked() throws Exception {
        commit(near, 10, BlockLayout.RECORDS, false);
        AtomicInteger seen = new AtomicInteger(-1);
        AtomicInteger seenInTime = new AtomicInteger(-1);
        network.faults((id, bytes) -> {
            if (id.equals(ReservedBlocks.directory(SHUFFLE))) {
                Thread other = new Thread(() -> seen.set(peers.size()), "verbena-test");
                other.setDaemon(true);
                other.start();
                try {
                    other.join(5_000);
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
                seenInTime.set(seen.get());
            }
            return bytes;
        });
        assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        assertThat(seenInTime).hasValue(1);
    }

    /** A block above 64 MiB is a stream; its source must live until it is read, also when it is the last one. */
    @Test
    void shouldStreamBlocksThatAreTooLargeToCopy() {
        byte[] large = new byte[65 << 20];
        new Random(62).nextBytes(large);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        SerializationStream out = serializer.newInstance().serializeStream(bytes);
        out.writeKey(0, ANY);
        out.writeValue(large, ANY);
        out.close();
        byte[] block = bytes.toByteArray();
        Adler32 sum = new Adler32();
        sum.update(block);
        ByteBuffer head = new BlockFrame(
                        BlockLayout.RECORDS,
                        BlockFrame.ChecksumKind.ADLER32,
                        List.of(new BlockFrame.Entry(0, block.length, sum.getValue())))
                .encode();
        assertThatThrownBy(() -> readLarge(block, head, 1)).isInstanceOf(FetchFailedException.class);
        assertThat(readLarge(block, head, 0)).isEqualTo(large);

        // The same as a block of Spark's.
        byte[] wrapped = wrapped(near, 10, 0, block);
        Adler32 wrappedSum = new Adler32();
        wrappedSum.update(wrapped);
        ByteBuffer sparkHead = new BlockFrame(
                        BlockLayout.SPARK,
                        BlockFrame.ChecksumKind.ADLER32,
                        List.of(new BlockFrame.Entry(0, wrapped.length, wrappedSum.getValue())))
                .encode();
        assertThat(readLarge(wrapped, sparkHead, 0)).isEqualTo(large);
    }

    private byte[] readLarge(byte[] block, ByteBuffer head, int damage) {
        if (refs.get(near).isEmpty()) {
            commit(near, 10, BlockLayout.RECORDS, false);
        }
        network.faults((id, ignored) -> {
            byte[] frame = new byte[head.remaining() + block.length];
            head.duplicate().get(frame, 0, head.remaining());
            System.arraycopy(block, 0, frame, head.remaining(), block.length);
            frame[frame.length - 1] ^= (byte) damage;
            return frame;
        });
        SourceQueue queue = queue(0, 1, false);
        try {
            RecordDecoder decoder =
                    new RecordDecoder(queue, serializer.newInstance(), self.serializers(), null, SHUFFLE, metrics);
            assertThat(decoder.hasNext()).isTrue();
            byte[] value = (byte[]) ((Tuple2<?, ?>) decoder.next())._2();
            assertThat(decoder.hasNext()).isFalse();
            return value;
        } finally {
            queue.close();
        }
    }
}
