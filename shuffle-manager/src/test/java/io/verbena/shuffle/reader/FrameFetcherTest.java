package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metadata.ReservedBlocks;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.storage.BlockManagerId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;

@Timeout(60)
class FrameFetcherTest {
    private static final int SHUFFLE = 2;
    private static final BlockManagerId PEER = BlockManagerId.apply("7", "host7", 7337, Option.empty());

    @TempDir
    Path folder;

    private final AtomicInteger files = new AtomicInteger();

    /** A request that waits for the test to answer it. */
    private record Asked(List<String> ids, BlockFetchingListener listener, DownloadFileManager files) {}

    private final List<Asked> asked = new ArrayList<>();
    private final BlockClient client =
            (peer, ids, listener, files) -> asked.add(new Asked(List.of(ids), listener, files));

    private final AtomicInteger rings = new AtomicInteger();

    private FrameFetcher fetcher(long maxBytesInFlight, long maxBytesToMemory) {
        return new FrameFetcher(
                client,
                SHUFFLE,
                maxBytesInFlight,
                maxBytesToMemory,
                () -> folder.resolve("download-" + files.incrementAndGet()).toFile(),
                rings::incrementAndGet);
    }

    private static MapRef ref(long mapId, long bytes) {
        return new MapRef(PEER, mapId, (int) mapId, 3, 5, bytes);
    }

    private static List<MapRef> refs(int count, long bytes) {
        List<MapRef> refs = new ArrayList<>();
        for (int mapId = 0; mapId < count; mapId++) {
            refs.add(ref(mapId, bytes));
        }
        return refs;
    }

    private static TestNetwork.Counted answer(Asked request, String id) {
        TestNetwork.Counted buffer = new TestNetwork.Counted(new byte[] {1});
        request.listener().onBlockFetchSuccess(id, buffer);
        buffer.release();
        return buffer;
    }

    @Test
    void shouldBoundTheBytesInFlight() {
        FrameFetcher fetcher = fetcher(1000, 1 << 20);
        List<MapRef> refs = refs(100, 90);
        fetcher.add(refs);
        assertThat(asked).isEmpty();
        fetcher.send();
        Set<String> expected = new HashSet<>();
        refs.forEach(ref -> expected.add(ReservedBlocks.frame(SHUFFLE, ref.mapId(), 3, 5)));
        Set<MapRef> got = new HashSet<>();
        Set<String> seen = new HashSet<>();
        long inFlight = 0;
        int next = 0;
        int counted = 0;
        while (!fetcher.isDone()) {
            for (; counted < asked.size(); counted++) {
                seen.addAll(asked.get(counted).ids());
                inFlight += 90L * asked.get(counted).ids().size();
                assertThat(asked.get(counted).files()).isNull();
            }
            assertThat(inFlight).isBetween(1L, 1000L);
            Asked request = asked.get(next++);
            for (String id : request.ids()) {
                TestNetwork.Counted buffer = answer(request, id);
                FrameFetcher.Answer taken = fetcher.poll();
                assertThat(taken.failure()).isNull();
                assertThat(ReservedBlocks.frame(SHUFFLE, taken.ref().mapId(), 3, 5))
                        .isEqualTo(id);
                assertThat(taken.buffer()).isSameAs(buffer);
                assertThat(buffer.references).hasValue(1);
                taken.buffer().release();
                got.add(taken.ref());
                inFlight -= 90;
            }
        }
        assertThat(got).containsExactlyInAnyOrderElementsOf(refs);
        assertThat(seen).isEqualTo(expected);
        // Several requests at a time, so that several peers can send.
        assertThat(asked.size()).isBetween(20, 50);
        fetcher.close();
    }

    @Test
    void shouldAlwaysAdmitOneRequest() {
        FrameFetcher fetcher = fetcher(100, 1 << 20);
        fetcher.add(refs(3, 5000));
        fetcher.send();
        for (int mapId = 0; mapId < 3; mapId++) {
            assertThat(asked).hasSize(mapId + 1);
            answer(asked.get(mapId), asked.get(mapId).ids().get(0));
            FrameFetcher.Answer taken = fetcher.poll();
            assertThat(taken.ref().mapId()).isEqualTo(mapId);
            taken.buffer().release();
        }
        assertThat(fetcher.isDone()).isTrue();
        fetcher.close();
    }

    @Test
    void shouldBoundTheBlocksOfARequest() {
        FrameFetcher fetcher = fetcher(1 << 30, 1 << 20);
        fetcher.add(refs(600, 1));
        fetcher.send();
        assertThat(asked).extracting(request -> request.ids().size()).containsExactly(256, 256, 88);
        fetcher.close();
    }

    @Test
    void shouldHandOverFailuresAndNameWhatIsMissing() {
        FrameFetcher fetcher = fetcher(1000, 1 << 20);
        fetcher.add(refs(2, 100));
        fetcher.send();
        IOException cause = new IOException("refused");
        asked.get(0).listener().onBlockFetchFailure(asked.get(0).ids().get(1), cause);
        assertThat(rings).hasValue(1);
        FrameFetcher.Answer answer = fetcher.poll();
        assertThat(answer.failure()).isSameAs(cause);
        assertThat(answer.buffer()).isNull();
        assertThat(answer.ref().mapId()).isEqualTo(1);
        assertThat(fetcher.isDone()).isFalse();
        assertThat(fetcher.anyUnanswered().mapId()).isZero();
        assertThat(fetcher.poll()).isNull();
        fetcher.close();
    }

    @Test
    void shouldReleaseWhatIsNotTakenAndWhatComesLate() {
        FrameFetcher fetcher = fetcher(1 << 20, 1 << 20);
        fetcher.add(refs(3, 10));
        fetcher.send();
        TestNetwork.Counted early = answer(asked.get(0), asked.get(0).ids().get(0));
        assertThat(early.references).hasValue(1);
        fetcher.close();
        assertThat(early.references).hasValue(0);
        TestNetwork.Counted late = answer(asked.get(0), asked.get(0).ids().get(1));
        assertThat(late.references).hasValue(0);
        asked.get(0).listener().onBlockFetchFailure(asked.get(0).ids().get(2), new IOException("late"));
        fetcher.close();
    }

    @Test
    void shouldReleaseEveryAnswerThatRacesWithItsEnd() throws Exception {
        for (int round = 0; round < 300; round++) {
            asked.clear();
            FrameFetcher fetcher = fetcher(1 << 20, 1 << 20);
            fetcher.add(refs(8, 10));
            fetcher.send();
            CyclicBarrier start = new CyclicBarrier(3);
            List<FutureTask<List<TestNetwork.Counted>>> answering = new ArrayList<>();
            for (int half = 0; half < 2; half++) {
                List<String> ids = asked.get(0).ids().subList(half * 4, half * 4 + 4);
                answering.add(new FutureTask<>(() -> {
                    start.await(10, TimeUnit.SECONDS);
                    List<TestNetwork.Counted> buffers = new ArrayList<>();
                    for (String id : ids) {
                        buffers.add(answer(asked.get(0), id));
                    }
                    return buffers;
                }));
            }
            answering.forEach(task -> new Thread(task, "verbena-test").start());
            start.await(10, TimeUnit.SECONDS);
            FrameFetcher.Answer taken = fetcher.poll();
            fetcher.close();
            for (FutureTask<List<TestNetwork.Counted>> task : answering) {
                for (TestNetwork.Counted buffer : task.get(10, TimeUnit.SECONDS)) {
                    boolean isTaken = taken != null && taken.buffer() == buffer;
                    assertThat(buffer.references).hasValue(isTaken ? 1 : 0);
                }
            }
        }
    }

    @Test
    void shouldFetchLargeMapOutputsToFilesAndDeleteThem() throws IOException {
        FrameFetcher fetcher = fetcher(1 << 20, 1000);
        fetcher.add(List.of(ref(0, 10), ref(1, 5000), ref(2, 20)));
        fetcher.send();
        assertThat(asked)
                .extracting(Asked::ids)
                .containsExactlyInAnyOrder(
                        List.of(ReservedBlocks.frame(SHUFFLE, 1, 3, 5)),
                        List.of(ReservedBlocks.frame(SHUFFLE, 0, 3, 5), ReservedBlocks.frame(SHUFFLE, 2, 3, 5)));
        Asked large = asked.stream()
                .filter(request -> request.ids().size() == 1)
                .findFirst()
                .orElseThrow();
        assertThat(asked.stream().filter(request -> request.files() != null)).containsExactly(large);
        TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
        DownloadFile file = large.files().createTempFile(conf);
        try (WritableByteChannel out = file.openForWriting()) {
            out.write(ByteBuffer.wrap(new byte[] {1, 2, 3}));
        }
        assertThat(new File(file.path())).exists();
        assertThat(large.files().registerTempFileToClean(file)).isTrue();
        fetcher.close();
        assertThat(new File(file.path())).doesNotExist();
        // After the end nobody would delete it: the transfer does it itself when it is told no.
        assertThat(large.files().registerTempFileToClean(file)).isFalse();
    }
}
