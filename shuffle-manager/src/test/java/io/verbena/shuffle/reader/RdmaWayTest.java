package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.shuffle.testing.Await;
import io.verbena.shuffle.testing.TestExecutor;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** Reduce tasks that copy blocks out of peers' memory, with faults on the way. */
@Timeout(120)
class RdmaWayTest extends ReadFixture {
    private FaultyTransport faults;

    @BeforeEach
    void readWithoutViews() {
        maxBytesInFlight = 1 << 20;
        timeoutMs = 10_000;
        peers.close();
        faults = new FaultyTransport(self.memory().transport());
        peers = new PeerRegistry(resources(faults));
    }

    /** What is left in the arenas are the map outputs, which the fixture removes. */
    @AfterEach
    void noMemoryOfReadsIsLeft() {
        faults.release();
        queues.forEach(SourceQueue::close);
        Await.until("reads have ended", () -> faults.readsInFlight.get() == 0);
        Await.until(
                "memory of reads is free",
                () -> self.memory().arena().statistics().leases() == leasesOf(self));
        peers.closeIdle(0);
        Await.until("leases have ended", () -> faults.leases.get() == 0);
        assertThat(faults.readsWithoutLease).hasValue(0);
    }

    private static long leasesOf(TestExecutor executor) {
        return executor.store().directory(SHUFFLE).outputs().values().stream()
                .mapToLong(entry -> entry.runs().size())
                .sum();
    }

    private void assertReads(int from, int to) {
        assertThat(sorted(read(from, to, true))).isEqualTo(expected(from, to));
    }

    private void assertAllBy(ShuffleCounter way) {
        assertThat(counters.get(way)).isPositive();
        for (ShuffleCounter other : List.of(ShuffleCounter.READ_RDMA_BYTES, ShuffleCounter.READ_NETTY_BYTES)) {
            assertThat(counters.get(other) > 0).as("%s", other).isEqualTo(other == way);
        }
    }

    @Test
    void shouldReadEqualRecordsOfEveryLayout() {
        commitMixture(self, 10);
        commitMixture(near, 30);
        commitMixture(far, 50);
        for (int[] range : new int[][] {{0, PARTITIONS}, {0, 1}, {3, 4}, {2, 5}, {5, 6}}) {
            assertReads(range[0], range[1]);
        }
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isPositive();
        // The stock files.
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        assertThat(metrics.remoteBytesRead())
                .isEqualTo(
                        counters.get(ShuffleCounter.READ_RDMA_BYTES) + counters.get(ShuffleCounter.READ_NETTY_BYTES));
        assertThat(metrics.localBytesRead())
                .isEqualTo(counters.get(ShuffleCounter.READ_SELF_BYTES)
                        + counters.get(ShuffleCounter.READ_LOCAL_FILE_BYTES));
        // 15 map outputs per executor and task.
        assertThat(metrics.remoteBlocksFetched()).isEqualTo(2 * 15 * 5);
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(2);
    }

    @Test
    void shouldReadIndexesOncePerExecutorAndManyBlocksPerRequest() {
        for (int mapId = 10; mapId < 110; mapId++) {
            commit(near, mapId, BlockLayout.RECORDS, false);
        }
        assertReads(0, 1);
        // 200 runs' indexes by one request, 100 map outputs' blocks by another.
        assertThat(faults.reads).hasValue(2);
        assertReads(1, 2);
        assertThat(faults.reads).hasValue(3);
        assertReads(0, PARTITIONS);
        assertThat(faults.reads).hasValue(4);
        assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
    }

    @Test
    void shouldBoundTheMemoryOfATask() {
        maxBytesInFlight = 6_000;
        for (int mapId = 10; mapId < 60; mapId++) {
            commit(near, mapId, BlockLayout.WRAPPED, false);
            commit(far, 100 + mapId, BlockLayout.RECORDS, false);
        }
        assertReads(0, PARTITIONS);
        assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
        // Indexes of 200 runs take two requests of two peers; the blocks alone are far more than is held at a time.
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isGreaterThan(20 * maxBytesInFlight);
        assertThat(self.memory().arena().statistics().peakLeasedBytes()).isLessThan(100_000);
    }

    @Test
    void shouldFetchWhatIsLargerThanATaskMayHold() {
        maxBytesInFlight = 10;
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.RECORDS, false);
        assertReads(0, PARTITIONS);
        assertAllBy(ShuffleCounter.READ_NETTY_BYTES);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void shouldFetchWhatItHasNoMemoryFor(int successfulReads) {
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.SPARK, false);
        if (successfulReads == 1) {
            assertReads(0, 1);
            assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
        }
        long byRead = counters.get(ShuffleCounter.READ_RDMA_BYTES);
        List<RegisteredBuffer> all = new ArrayList<>();
        for (RegisteredBuffer some = self.memory().arena().tryAcquire(1 << 20);
                some != null;
                some = self.memory().arena().tryAcquire(1 << 20)) {
            all.add(some);
        }
        for (int size = 1 << 19; size >= 64; size /= 2) {
            for (RegisteredBuffer some = self.memory().arena().tryAcquire(size);
                    some != null;
                    some = self.memory().arena().tryAcquire(size)) {
                all.add(some);
            }
        }
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isEqualTo(byRead);
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(2);
        all.forEach(RegisteredBuffer::release);
        // The next task tries again.
        long byNetty = counters.get(ShuffleCounter.READ_NETTY_BYTES);
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isEqualTo(byNetty);
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"TIMEOUT", "PEER_GONE", "CLOSED"})
    void shouldFetchWhatAFailedReadDidNotBring(Reason reason) {
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.WRAPPED, false);
        // First the indexes, then the blocks.
        for (int failing = 0; failing < 2; failing++) {
            int failed = failing;
            int before = faults.reads.get();
            faults.failing = n -> n == before + failed ? reason : null;
            assertReads(0, PARTITIONS);
            assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(2L * (failing + 1));
            assertThat(network.requests("shuffle_" + SHUFFLE + "_10_")).isEqualTo(failing + 1);
        }
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isZero();
    }

    @Test
    void shouldAskForThePeersTablesOnceAfterARefusal() {
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.RECORDS, false);
        for (int failing = 0; failing < 2; failing++) {
            int failed = faults.reads.get() + failing;
            faults.failing = n -> n == failed ? Reason.REMOTE_ACCESS : null;
            long endpoints = network.requests(ReservedBlocks.endpoint());
            assertReads(0, PARTITIONS);
            assertThat(network.requests(ReservedBlocks.endpoint())).isEqualTo(Math.max(1, endpoints) + 1);
            peers.forget(SHUFFLE);
            queues.forEach(SourceQueue::close);
            peers.forget(SHUFFLE);
        }
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
        faults.failing = n -> Reason.REMOTE_ACCESS;
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(2);
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
    }

    @Test
    void shouldDetectEveryFlippedByteOfWhatWasRead() {
        commit(near, 10, BlockLayout.RECORDS, false);
        assertReads(0, PARTITIONS);
        // The blocks are read in requests of their own; byte after byte of them is damaged, once.
        long length = counters.get(ShuffleCounter.READ_RDMA_BYTES);
        long retries = 0;
        for (int at = 0; at < length; at += 3) {
            int flipped = at;
            AtomicInteger damaged = new AtomicInteger();
            faults.damage = (n, received) -> {
                if (flipped < received.capacity()) {
                    received.put(flipped, (byte) (received.get(flipped) ^ 0x40));
                    damaged.incrementAndGet();
                }
            };
            long byRead = counters.get(ShuffleCounter.READ_RDMA_BYTES);
            assertReads(0, PARTITIONS);
            assertThat(damaged).hasValue(1);
            boolean detected = counters.get(ShuffleCounter.READ_RDMA_BYTES) == byRead;
            retries += detected ? 1 : 0;
            assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(retries);
        }
        // All but the few bytes between two runs, which nobody reads.
        assertThat(retries).isGreaterThan(length / 3 - 8);
    }

    @Test
    void shouldDetectEveryFlippedByteOfAnIndex() {
        commit(near, 10, BlockLayout.RECORDS, false);
        int windowsOfTwoRuns = 2 * 140;
        for (int at = 0; at < windowsOfTwoRuns; at++) {
            int damaged = at;
            int indexRead = faults.reads.get();
            faults.damage = (n, received) -> {
                if (n == indexRead) {
                    received.put(damaged, (byte) (received.get(damaged) ^ 1));
                }
            };
            assertReads(0, PARTITIONS);
            assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(at + 1);
        }
        assertAllBy(ShuffleCounter.READ_NETTY_BYTES);
    }

    @Test
    void shouldFailTheFetchWhenThePeersMemoryIsDamaged() {
        commit(near, 10, BlockLayout.RECORDS, false);
        MapRef blamed = commit(near, 11, BlockLayout.RECORDS, false);
        MapOutput.InMemory output = (MapOutput.InMemory) near.store().get(SHUFFLE, 11);
        ByteBuffer run = output.runs().get(0).buffer();
        int at = (int) RunImage.overhead(PARTITIONS);
        run.put(at, (byte) (run.get(at) ^ 1));
        assertFetchFails(blamed, true, "checksum");
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(1);
    }

    @Test
    void shouldBlameThePeerThatLostAMapOutput() {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, false);
        near.store().remove(SHUFFLE);
        assertFetchFails(blamed, true, "not on this executor");
    }

    @Test
    void shouldLearnOfSegmentsAndMapOutputsThatCameLater() {
        commit(near, 10, BlockLayout.RECORDS, false);
        assertReads(0, PARTITIONS);
        RegisteredBuffer filler = near.memory().arena().tryAcquire((1 << 20) - 8192);
        RegisteredBuffer rest = near.memory().arena().tryAcquire(1 << 19);
        commit(near, 11, BlockLayout.RECORDS, false);
        assertReads(0, PARTITIONS);
        assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        filler.release();
        rest.release();
    }

    /** Whoever ends early leaves buffers posted; they and the lease are given back when the reads end. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void shouldKeepPostedMemoryAndTheLeaseWhenTheTaskEndsEarly(int readsBefore) {
        commit(near, 10, BlockLayout.RECORDS, false);
        if (readsBefore == 1) {
            // The index is known, so that the blocks are in flight next.
            assertReads(0, 1);
            queues.forEach(SourceQueue::close);
        }
        faults.delay();
        SourceQueue queue = queue(0, PARTITIONS, true);
        // Resolves the peer on the way to waiting for it.
        Future<Throwable> waiting = inThread(() -> queue.next());
        Await.until("a read has been answered", () -> faults.delayedReads() == 1);
        long leases = self.memory().arena().statistics().leases();
        assertThat(leases).isEqualTo(1);
        waiting.cancel(true);
        Await.until("the task has ended", waiting::isDone);
        queue.close();
        peers.forget(SHUFFLE);
        assertThat(peers.size()).isZero();
        assertThat(self.memory().arena().statistics().leases()).isEqualTo(1);
        assertThat(faults.leases).as("the read is still under way").hasValue(1);
        assertThat(near.memory().transport().unread(SHUFFLE)).isFalse();
        faults.release();
        Await.until("memory is free", () -> self.memory().arena().statistics().leases() == 0);
        Await.until("the lease has ended", () -> near.memory().transport().unread(SHUFFLE));
    }

    private static Future<Throwable> inThread(Callable<?> work) {
        ExecutorService one = Executors.newSingleThreadExecutor();
        Future<Throwable> result = one.submit(() -> {
            try {
                work.call();
                return null;
            } catch (Exception e) {
                return e;
            }
        });
        one.shutdown();
        return result;
    }

    @Test
    void shouldFetchWhatATransportNeverAnswers() {
        timeoutMs = 200;
        peers.close();
        peers = new PeerRegistry(resources(faults));
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.RECORDS, false);
        faults.delay();
        assertReads(0, PARTITIONS);
        assertAllBy(ShuffleCounter.READ_NETTY_BYTES);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(2);
    }

    @Test
    void shouldEndEverythingWhereverTheTaskStops() {
        commitMixture(near, 30);
        commitMixture(far, 50);
        for (int stopAfter : new int[] {0, 1, 60, 200, 300}) {
            SourceQueue queue = queue(0, PARTITIONS, true);
            RecordDecoder decoder =
                    new RecordDecoder(queue, serializer.newInstance(), self.serializers(), null, SHUFFLE, metrics);
            for (int i = 0; i < stopAfter; i++) {
                assertThat(decoder.hasNext()).isTrue();
                decoder.next();
            }
            queue.close();
            queue.close();
            Await.until(
                    "memory is free",
                    () -> self.memory().arena().statistics().leases() == 0 && faults.readsInFlight.get() == 0);
        }
    }

    @Test
    void shouldShareIndexesBetweenTasksThatReadAtTheSameTime() throws Exception {
        peers.close();
        ExecutorService background = Executors.newFixedThreadPool(3);
        peers = new PeerRegistry(
                new PeerResources(faults, self.memory().arena(), network, counters, background, timeoutMs, 30_000));
        for (int mapId = 10; mapId < 40; mapId++) {
            commit(near, mapId, mapId % 2 == 0 ? BlockLayout.RECORDS : BlockLayout.SPARK, false);
        }
        faults.delay();
        ExecutorService tasks = Executors.newFixedThreadPool(6);
        List<Future<List<String>>> results = new ArrayList<>();
        for (int p = 0; p < PARTITIONS; p++) {
            SourceQueue queue = queue(p, p + 1, true, new TempShuffleReadMetrics());
            results.add(tasks.submit(() -> sorted(decode(queue))));
        }
        Await.until("the indexes have come", () -> faults.delayedReads() == 1);
        faults.release();
        for (int p = 0; p < PARTITIONS; p++) {
            assertThat(results.get(p).get(60, TimeUnit.SECONDS)).isEqualTo(expected(p, p + 1));
        }
        assertThat(faults.reads).hasValue(1 + PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
        tasks.shutdown();
        assertThat(tasks.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
        background.shutdown();
        assertThat(background.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }

    private List<String> decode(SourceQueue queue) {
        List<String> got = new ArrayList<>();
        RecordDecoder decoder = new RecordDecoder(
                queue, serializer.newInstance(), self.serializers(), null, SHUFFLE, new TempShuffleReadMetrics());
        while (decoder.hasNext()) {
            got.add((String) ((Tuple2<?, ?>) decoder.next())._2());
        }
        return got;
    }

    /** Who got a row may use it until it asks for the next one and gets it, though asking opens the next source. */
    @Test
    void shouldKeepARowUntilTheNextOneIsHandedOut() {
        maxBytesInFlight = 200;
        Map<BlockManagerId, List<MapRef>> plan = new LinkedHashMap<>();
        List<MapRef> all = new ArrayList<>();
        for (int mapId = 0; mapId < 40; mapId++) {
            byte[] block = rows(mapId, rowCount(mapId));
            near.store().commit(SHUFFLE, near.memory().output(mapId, BlockLayout.ROWS, new byte[][] {block}));
            all.add(new MapRef(near.id(), mapId, mapId, 0, 1, 100));
        }
        plan.put(near.id(), all);
        SourceQueue queue = queue(new FetchPlan(plan), 1, true, metrics);
        RecordDecoder decoder = new RecordDecoder(
                queue, serializer.newInstance(), self.serializers(), new RowCursor(1), SHUFFLE, metrics);
        UnsafeRow previous = new UnsafeRow(1);
        long previousValue = -1;
        int rows = 0;
        long sum = 0;
        while (decoder.hasNext()) {
            if (rows > 0) {
                scribble();
                assertThat(previous.getLong(0)).isEqualTo(previousValue);
            }
            UnsafeRow row = (UnsafeRow) ((Tuple2<?, ?>) decoder.next())._2();
            previous.pointTo(row.getBaseObject(), row.getBaseOffset(), row.getSizeInBytes());
            previousValue = row.getLong(0);
            sum += previousValue;
            rows++;
        }
        assertThat(previous.getLong(0)).isEqualTo(previousValue);
        for (int mapId = 0; mapId < 40; mapId++) {
            for (int i = 0; i < rowCount(mapId); i++) {
                rows--;
                sum -= 1000L * mapId + i;
            }
        }
        assertThat(rows).isZero();
        assertThat(sum).isZero();
        assertAllBy(ShuffleCounter.READ_RDMA_BYTES);
        assertThat(self.memory().arena().statistics().peakLeasedBytes()).isLessThan(10_000);
    }

    /** The thread that feeds a pipe does not know that the task has ended until it asks for the next row. */
    @Test
    void shouldNotReuseTheMemoryOfARowAtOnceWhenTheTaskEndsEarly() {
        near.store().commit(SHUFFLE, near.memory().output(1, BlockLayout.ROWS, new byte[][] {rows(1, 3)}));
        near.store().commit(SHUFFLE, near.memory().output(2, BlockLayout.ROWS, new byte[][] {rows(2, 3)}));
        List<MapRef> all = List.of(new MapRef(near.id(), 1, 1, 0, 1, 100), new MapRef(near.id(), 2, 2, 0, 1, 100));
        SourceQueue queue = queue(new FetchPlan(Map.of(near.id(), all)), 1, true, metrics);
        RecordDecoder decoder = new RecordDecoder(
                queue, serializer.newInstance(), self.serializers(), new RowCursor(1), SHUFFLE, metrics);
        UnsafeRow row = (UnsafeRow) ((Tuple2<?, ?>) decoder.next())._2();
        long value = row.getLong(0);
        queue.close();
        assertThat(self.memory().arena().statistics().leases()).isZero();
        assertThat(self.memory().arena().statistics().quarantinedBytes()).isPositive();
        scribble();
        assertThat(row.getLong(0)).isEqualTo(value);
        Await.until("the memory is free", () -> {
            self.memory().arena().reclaim();
            return self.memory().arena().statistics().quarantinedBytes() == 0;
        });
    }

    /** Ending a task while another thread reads for it: nothing is freed twice, nothing is kept. */
    @Test
    void shouldEndWhileAnotherThreadReads() throws Exception {
        commitMixture(near, 30);
        commitMixture(far, 50);
        for (int round = 0; round < 100; round++) {
            SourceQueue queue = queue(0, PARTITIONS, true, new TempShuffleReadMetrics());
            AtomicInteger got = new AtomicInteger();
            Future<Throwable> reading = inThread(() -> {
                RecordDecoder decoder = new RecordDecoder(
                        queue,
                        serializer.newInstance(),
                        self.serializers(),
                        null,
                        SHUFFLE,
                        new TempShuffleReadMetrics());
                while (decoder.hasNext()) {
                    decoder.next();
                    got.incrementAndGet();
                }
                return null;
            });
            int some = round * 3;
            Await.until("some records have come", () -> got.get() >= some || reading.isDone());
            queue.close();
            Throwable failure = reading.get(10, TimeUnit.SECONDS);
            if (failure != null) {
                assertThat(failure).isInstanceOf(IllegalStateException.class).hasMessageContaining("after the end of");
            }
            Await.until("reads have ended", () -> faults.readsInFlight.get() == 0);
            Await.until(
                    "memory of reads is free",
                    () -> self.memory().arena().statistics().leases() == 0);
        }
    }

    /** Overwrites memory that was given back: the smallest leases fill the first gaps. */
    private void scribble() {
        List<RegisteredBuffer> gaps = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            RegisteredBuffer gap = self.memory().arena().tryAcquire(64);
            OffHeap.zero(gap.address(), 64);
            gaps.add(gap);
        }
        gaps.forEach(RegisteredBuffer::release);
    }

    /** Every third map output is empty. */
    private static int rowCount(int mapId) {
        return mapId % 3 == 2 ? 0 : 1 + mapId % 2;
    }

    private static byte[] rows(int mapId, int count) {
        ByteBuffer bytes = ByteBuffer.allocate(count * 24).order(ByteOrder.nativeOrder());
        for (int i = 0; i < count; i++) {
            bytes.putLong(16).putLong(0).putLong(1000L * mapId + i);
        }
        return bytes.array();
    }
}
