package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.registration.MrCacheStatistics;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.testing.Await;
import io.verbena.transport.TransportException.Reason;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reduce tasks that read stock shuffle files of peers as registered memory. */
@Timeout(120)
class FileReadTest extends ReadFixture {
    private static final int PAGE = 4096;

    private FaultyTransport faults;

    @BeforeEach
    void readWithoutViews() {
        maxBytesInFlight = 1 << 20;
        timeoutMs = 10_000;
        peers.close();
        faults = new FaultyTransport(self.memory().transport());
        peers = new PeerRegistry(resources(faults));
        near.pinFiles(1, 16 * PAGE);
    }

    @AfterEach
    void noReadIsLeft() {
        endLeases();
        assertThat(faults.readsWithoutLease).hasValue(0);
    }

    private void endLeases() {
        queues.forEach(SourceQueue::close);
        Await.until("reads have ended", () -> faults.readsInFlight.get() == 0);
        peers.closeIdle(0);
        Await.until("leases have ended", () -> faults.leases.get() == 0);
    }

    private void assertReads(int from, int to) {
        assertThat(sorted(read(from, to, true))).isEqualTo(expected(from, to));
    }

    private void assertReads(MapRef ref) {
        List<String> all = new ArrayList<>();
        for (int p = 0; p < PARTITIONS; p++) {
            for (int i = 0; i < count(ref.mapId(), p); i++) {
                all.add(record(ref.mapId(), p, i));
            }
        }
        SourceQueue queue = queue(new FetchPlan(Map.of(ref.location(), List.of(ref))), PARTITIONS, true, metrics);
        assertThat(sorted(read(queue, new ArrayList<>()))).isEqualTo(sorted(all));
    }

    private Path dataFile(long mapId) {
        return near.local().getDataFile(SHUFFLE, mapId).toPath();
    }

    private void flipByte(long mapId) throws IOException {
        // In place: the file stays the one that is mapped.
        try (RandomAccessFile file = new RandomAccessFile(dataFile(mapId).toFile(), "rw")) {
            file.seek(7);
            int value = file.read();
            file.seek(7);
            file.write(value ^ 1);
        }
    }

    private void assertRefusedAndFetched(long refusals) {
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(near.counters().get(ShuffleCounter.FILE_PIN_REFUSALS)).isEqualTo(refusals);
    }

    @Test
    void shouldReadFilesAndMemoryOfOnePeerDirectly() {
        commitMixture(near, 10);
        for (int[] range : new int[][] {{0, PARTITIONS}, {0, 1}, {3, 4}, {2, 5}, {5, 6}}) {
            assertReads(range[0], range[1]);
        }
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isPositive().isEqualTo(metrics.remoteBytesRead());
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isZero();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        // Six files, each asked for and registered once for five tasks.
        assertThat(network.requests.stream().filter(id -> id.matches("shuffle_4_\\d+_-1_\\d+")))
                .hasSize(6);
        assertThat(near.counters().get(ShuffleCounter.FILES_PINNED)).isEqualTo(6);
        assertThat(near.fileCache().statistics()).isEqualTo(new MrCacheStatistics(0, 6, 0, 0, 0, 6, 6, 6 * PAGE));
    }

    @Test
    void shouldNotAskForFilesThatAreCheaperToSend() throws IOException {
        MapRef small = commit(near, 10, BlockLayout.RECORDS, true);
        near.pinFiles(Files.size(dataFile(10)) + 1, 16 * PAGE);
        assertReads(small);
        assertThat(network.requests).doesNotContain(ReservedBlocks.pin(SHUFFLE, 10, 0, PARTITIONS));
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
    }

    @Test
    void shouldFetchWhatThereIsNoRoomToPin() {
        near.pinFiles(1, PAGE);
        commit(near, 10, BlockLayout.RECORDS, true);
        commit(near, 11, BlockLayout.RECORDS, true);
        assertReads(0, PARTITIONS);
        assertReads(0, 1);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        // A refusal is remembered; nothing was tried and lost.
        assertThat(near.counters().get(ShuffleCounter.FILE_PIN_REFUSALS)).isEqualTo(1);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
    }

    @Test
    void shouldPinAgainWhatWasEvicted() {
        near.pinFiles(1, PAGE);
        MapRef first = commit(near, 10, BlockLayout.RECORDS, true);
        MapRef second = commit(near, 11, BlockLayout.WRAPPED, true);
        for (MapRef ref : List.of(first, second, first)) {
            assertReads(ref);
            endLeases();
            assertThat(near.pins().sweep()).isTrue();
        }
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isZero();
        assertThat(near.fileCache().statistics()).isEqualTo(new MrCacheStatistics(0, 3, 0, 2, 0, 1, 0, PAGE));
        assertThat(near.counters().get(ShuffleCounter.FILES_PINNED)).isEqualTo(3);
        assertThat(near.counters().get(ShuffleCounter.FILE_PIN_REFUSALS)).isZero();
    }

    @Test
    void shouldKeepAFileAsLongAsItsShuffleIsRead() {
        MapRef ref = commit(near, 10, BlockLayout.RECORDS, true);
        assertReads(ref);
        assertThat(near.pins().sweep()).isFalse();
        near.pins().remove(SHUFFLE, 10);
        assertThat(near.fileCache().regions()).hasSize(1);
        endLeases();
        assertThat(near.pins().sweep()).isTrue();
        assertThat(near.fileCache().regions()).as("its file is about to go").isEmpty();
        assertReads(ref);
        endLeases();
        assertThat(near.pins().sweep()).isTrue();
        assertThat(near.fileCache().regions()).as("kept while there is room").hasSize(1);
    }

    @Test
    void shouldNotPinAFileThatFailsItsChecksum() throws IOException {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, true);
        flipByte(10);
        assertFetchFails(blamed, true, "checksum");
        assertThat(near.counters().get(ShuffleCounter.FILE_PIN_REFUSALS)).isEqualTo(1);
        assertThat(near.fileCache().statistics().leasedEntries()).isZero();
    }

    @Test
    void shouldDetectAFileThatIsDamagedAfterItWasPinned() throws IOException {
        MapRef blamed = commit(near, 10, BlockLayout.RECORDS, true);
        assertReads(0, PARTITIONS);
        flipByte(10);
        assertFetchFails(blamed, true, "checksum");
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isPositive();
    }

    @Test
    void shouldFetchWhatWasDamagedOnTheWay() {
        commit(near, 10, BlockLayout.RECORDS, true);
        faults.damage = (n, received) -> received.put(5, (byte) (received.get(5) ^ 4));
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(1);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        faults.damage = (n, received) -> {};
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isPositive();
    }

    @Test
    void shouldFetchWhatThePeersDeviceRefusesToLetRead() {
        commit(near, 10, BlockLayout.RECORDS, true);
        faults.failing = n -> Reason.REMOTE_ACCESS;
        assertReads(0, PARTITIONS);
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(1);
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isZero();
    }

    @Test
    void shouldFetchWhenTheAnswerIsDamagedOrDoesNotCome() {
        commit(near, 10, BlockLayout.RECORDS, true);
        network.faults((id, bytes) -> {
            if (id.equals(ReservedBlocks.pin(SHUFFLE, 10, 0, PARTITIONS))) {
                bytes[bytes.length - 70] ^= 1;
            }
            return bytes;
        });
        assertReads(0, PARTITIONS);
        endLeases();
        network.faults((id, bytes) -> {
            if (id.equals(ReservedBlocks.pin(SHUFFLE, 10, 0, PARTITIONS))) {
                throw new IOException("no");
            }
            return bytes;
        });
        assertRefusedAndFetched(0);
        assertThat(counters.get(ShuffleCounter.FETCH_FAILURES)).isZero();
    }

    @Test
    void shouldRefuseWhatIsNotInAFile() throws IOException {
        commit(near, 10, BlockLayout.RECORDS, true);
        Files.delete(dataFile(10));
        MapRef blamed = refs.get(near).get(0);
        assertFetchFails(blamed, true, "executor near");
        assertThat(near.counters().get(ShuffleCounter.FILE_PIN_REFUSALS)).isEqualTo(1);
    }
}
