package io.verbena.transport.verbs.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SendRingTest {
    private static final int CAPACITY = 5;

    private final SendRing ring = new SendRing(3, CAPACITY);
    private final List<ReadState> finished = new ArrayList<>();

    @AfterEach
    void free() {
        ring.close();
    }

    private long post(int count) {
        long last = 0;
        for (int i = 0; i < count; i++) {
            ring.addSend(1000 + i, 16, 7);
        }
        long wr = ring.seal();
        for (int i = 0; i < count; i++) {
            last = OffHeap.getLong(wr);
            assertThat(WorkId.connection(last)).isEqualTo(3);
            assertThat(WorkId.isReceive(last)).isFalse();
            wr = OffHeap.getLong(wr + 8);
        }
        assertThat(wr).isZero();
        return WorkId.sequence(last);
    }

    @Test
    void shouldChainAcrossTheEndOfItsMemory() {
        for (int round = 0; round < 100; round++) {
            long last = post(3);
            assertThat(ring.inFlight()).isEqualTo(3);
            assertThat(ring.complete(last, finished)).isZero();
            assertThat(ring.inFlight()).isZero();
        }
    }

    @Test
    void shouldSignalReadsWithinAChainEverySoManyBytesAndTheLast() {
        List<Integer> signalled = new ArrayList<>();
        for (int i = 0; i < CAPACITY; i++) {
            ring.addRead(null, 0, 1, 1000, SendRing.SIGNAL_BYTES / 2, 7);
        }
        long wr = ring.seal();
        for (int i = 0; wr != 0; i++) {
            if (OffHeap.getInt(wr + VerbsNative.SEND_WR_FLAGS) != 0) {
                signalled.add(i);
            }
            wr = OffHeap.getLong(wr + VerbsNative.SEND_WR_NEXT);
        }
        assertThat(signalled).containsExactly(1, 3, 4);
    }

    @Test
    void shouldNeverHoldMoreThanItsCapacityWhateverTheDeviceTakes() {
        post(CAPACITY);
        assertThat(ring.free()).isZero();
        assertThatThrownBy(() -> ring.addSend(1, 1, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("capacity=5");
    }

    @Test
    void shouldKnowADuplicateCompletionFromOneInFlight() {
        long first = post(2);
        long second = post(2);
        assertThat(ring.isInFlight(first)).isTrue();
        assertThat(ring.complete(first, finished)).isZero();
        assertThat(ring.isInFlight(first)).isFalse();
        assertThat(ring.isInFlight(first - 1)).isFalse();
        assertThat(ring.isInFlight(second)).isTrue();
        assertThat(ring.isInFlight(second + 1)).isFalse();
        assertThat(ring.inFlight()).isEqualTo(2);
    }

    @Test
    void shouldEndWhatPrecedesALaterCompletionWhoseOwnIsMissing() {
        post(2);
        long second = post(2);
        ring.complete(second, finished);
        assertThat(ring.inFlight()).isZero();
        assertThat(ring.free()).isEqualTo(CAPACITY);
    }
}
