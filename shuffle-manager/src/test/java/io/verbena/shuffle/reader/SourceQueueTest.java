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
import io.verbena.shuffle.resolver.MapOutput;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.Adler32;
import org.apache.spark.FetchFailed;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.shuffle.FetchFailedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** One reduce task, each way. */
@Timeout(120)
class SourceQueueTest extends ReadFixture {
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

    /** Reads are counted some at a time; an early end counts the rest. */
    @Test
    void shouldCountWhatWasReadBeforeAnEarlyEnd() {
        for (int mapId = 10; mapId < 80; mapId++) {
            commit(self, mapId, BlockLayout.RECORDS, false);
        }
        SourceQueue queue = queue(0, PARTITIONS, true);
        long bytes = 0;
        for (int i = 0; i < 65; i++) {
            BlockSource source = queue.next();
            for (Slice slice = queue.nextSlice(source); slice != null; slice = queue.nextSlice(source)) {
                bytes += slice.length();
            }
        }
        assertThat(metrics.localBlocksFetched()).isEqualTo(64);
        queue.close();
        assertThat(metrics.localBlocksFetched()).isEqualTo(65);
        assertThat(metrics.localBytesRead()).isEqualTo(bytes);
        assertThat(counters.get(ShuffleCounter.READ_SELF_BYTES)).isEqualTo(bytes);
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
        assertFetchFails(blamed, true, "theirs=9", "ours=2");
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

    /** The backing may have given plain memory when its files ran out of room. */
    @Test
    void shouldFetchMapOutputsInSegmentsThatCannotBeMapped() {
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.SPARK, false);
        near.memory().arena().regions().forEach(region -> views.plain.add(region.rkey()));
        for (int task = 0; task < 3; task++) {
            assertThat(sorted(read(0, PARTITIONS, true))).isEqualTo(expected(0, PARTITIONS));
        }
        assertThat(counters.get(ShuffleCounter.READ_MAPPED_BYTES)).isZero();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        // Once to connect, once to learn that there is no other segment.
        assertThat(network.requests(ReservedBlocks.endpoint())).isEqualTo(2);
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
