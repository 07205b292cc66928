package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.ReservedBlocks;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.testing.Await;
import io.verbena.transport.TransportException.Reason;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reduce tasks of a shuffle with so many partitions that each task reads only the windows of the indexes that it needs. */
@Timeout(120)
class WindowedReadTest extends ReadFixture {
    private static final int WINDOW = 16;

    private FaultyTransport faults;

    @BeforeEach
    void readWithoutViews() {
        partitions = 605;
        maxBytesInFlight = 1 << 20;
        timeoutMs = 10_000;
        peers.close();
        faults = new FaultyTransport(self.memory().transport());
        peers = new PeerRegistry(resources(faults));
    }

    @AfterEach
    void noReadIsLeft() {
        queues.forEach(SourceQueue::close);
        Await.until("reads have ended", () -> faults.readsInFlight.get() == 0);
        peers.closeIdle(0);
        Await.until("leases have ended", () -> faults.leases.get() == 0);
        assertThat(faults.readsWithoutLease).hasValue(0);
    }

    private void assertReads(int from, int to) {
        assertThat(sorted(read(from, to, true))).isEqualTo(expected(from, to));
    }

    @Test
    void shouldReadRangesWithinAndAcrossWindows() {
        commitMixture(self, 10);
        commitMixture(near, 30);
        commitMixture(far, 50);
        near.pinFiles(1, 1 << 24);
        int[][] ranges = {{0, 1}, {15, 16}, {16, 17}, {15, 17}, {3, 60}, {592, 605}, {604, 605}, {0, 605}};
        for (int[] range : ranges) {
            assertReads(range[0], range[1]);
        }
        assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isPositive();
        assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isZero();
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(2);
    }

    @Test
    void shouldReadTheWindowsOfManyRunsByOneRequest() {
        for (int mapId = 10; mapId < 30; mapId++) {
            commit(near, mapId, BlockLayout.RECORDS, false);
        }
        int[] largest = new int[2];
        faults.damage = (n, received) -> largest[n % 2] = Math.max(largest[n % 2], received.capacity());
        for (int task = 0; task < 5; task++) {
            assertReads(40 * task, 40 * task + 2);
            // Of 40 runs one window, or two for a range that crosses their border, and then the blocks.
            assertThat(faults.reads).hasValue(2 * (task + 1));
        }
        assertThat(largest[0]).isEqualTo(40 * 140);
    }

    @Test
    void shouldFetchWhatHasADamagedWindow() {
        commit(near, 10, BlockLayout.RECORDS, false);
        commit(near, 11, BlockLayout.RECORDS, false);
        for (int at = 0; at < 2 * 140; at += 3) {
            int damaged = at;
            int indexRead = faults.reads.get();
            faults.damage = (n, received) -> {
                if (n == indexRead) {
                    received.put(damaged, (byte) (received.get(damaged) ^ 1));
                }
            };
            long fetched = counters.get(ShuffleCounter.READ_NETTY_BYTES);
            long read = counters.get(ShuffleCounter.READ_RDMA_BYTES);
            assertReads(WINDOW, WINDOW + 1);
            assertThat(counters.get(ShuffleCounter.READ_RETRIES)).isEqualTo(at / 3 + 1);
            assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isGreaterThan(fetched);
            assertThat(counters.get(ShuffleCounter.READ_RDMA_BYTES)).isGreaterThan(read);
        }
    }

    @Test
    void shouldReadAWindowAgainThatWasRefusedOnce() {
        commit(near, 10, BlockLayout.RECORDS, false);
        faults.failing = n -> n == 0 ? Reason.REMOTE_ACCESS : null;
        assertReads(100, 101);
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isZero();
        assertThat(counters.get(ShuffleCounter.DIRECTORY_FETCHES)).isEqualTo(2);
    }

    @Test
    void shouldNotAskAgainForAFileThatWasRefusedToAnotherTask() {
        near.pinFiles(1, 1);
        commit(near, 10, BlockLayout.RECORDS, true);
        assertReads(100, 101);
        assertReads(31, 33);
        assertThat(near.counters().get(ShuffleCounter.FILE_PIN_REFUSALS)).isEqualTo(1);
        assertThat(network.requests.stream().filter(id -> id.matches("shuffle_4_10_-\\d+_\\d+")))
                .hasSize(1);
    }

    @Test
    void shouldAskForTheWindowsOfAFileThatATaskNeeds() {
        near.pinFiles(1, 1 << 20);
        commit(near, 10, BlockLayout.RECORDS, true);
        commit(near, 11, BlockLayout.WRAPPED, true);
        assertReads(100, 101);
        assertReads(31, 33);
        assertThat(network.requests)
                .contains(
                        ReservedBlocks.pin(SHUFFLE, 10, 96, 112),
                        ReservedBlocks.pin(SHUFFLE, 11, 96, 112),
                        ReservedBlocks.pin(SHUFFLE, 10, 16, 48),
                        ReservedBlocks.pin(SHUFFLE, 11, 16, 48));
        assertThat(counters.get(ShuffleCounter.READ_NETTY_BYTES)).isZero();
        assertThat(near.counters().get(ShuffleCounter.FILES_PINNED)).isEqualTo(2);
    }
}
