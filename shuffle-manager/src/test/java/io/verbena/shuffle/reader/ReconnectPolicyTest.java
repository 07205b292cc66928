package io.verbena.shuffle.reader;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReconnectPolicyTest {
    private static final long INTERVAL = TimeUnit.SECONDS.toNanos(30);
    private static final long PAUSE = ReconnectPolicy.FIRST_PAUSE_NS;

    private final ReconnectPolicy policy = new ReconnectPolicy(INTERVAL);

    private void assertPausedUntil(long end) {
        assertThat(policy.mayConnect(end - 1)).isFalse();
        assertThat(policy.mayConnect(end)).isTrue();
    }

    /** The clock may begin anywhere and pass over the largest number. */
    @ParameterizedTest
    @ValueSource(longs = {0, -5, Long.MAX_VALUE - 200_000_000L})
    void shouldPauseLongerEachTimeAndThenDemote(long start) {
        long now = start;
        assertThat(policy.mayConnect(now)).isTrue();
        assertThat(policy.failed(now)).isFalse();
        assertPausedUntil(now + PAUSE);
        now += PAUSE;
        assertThat(policy.failed(now)).isFalse();
        assertPausedUntil(now + 2 * PAUSE);
        now += 2 * PAUSE;
        assertThat(policy.failed(now)).isTrue();
        assertPausedUntil(now + INTERVAL);
    }

    private long demote() {
        for (int i = 0; i < ReconnectPolicy.MAX_FAILURES; i++) {
            assertThat(policy.failed(1000 + i)).isEqualTo(i == ReconnectPolicy.MAX_FAILURES - 1);
        }
        return 1000 + ReconnectPolicy.MAX_FAILURES + INTERVAL;
    }

    @Test
    void shouldStayDemotedWithoutSayingSoAgain() {
        long now = demote();
        assertThat(policy.failed(now)).isFalse();
        assertPausedUntil(now + INTERVAL);
        assertThat(policy.failed(now + 3 * INTERVAL)).isFalse();
        assertPausedUntil(now + 4 * INTERVAL);
    }

    @Test
    void shouldRecoverOnProbation() {
        long now = demote();
        assertThat(policy.connected(now)).isTrue();
        assertThat(policy.mayConnect(now)).isTrue();
        assertThat(policy.connected(now + 1)).isFalse();
        assertThat(policy.failed(now + INTERVAL - 1)).isTrue();
        assertPausedUntil(now + 2 * INTERVAL - 1);
    }

    @Test
    void shouldForgiveAfterProbation() {
        long now = demote();
        assertThat(policy.connected(now)).isTrue();
        assertThat(policy.failed(now + INTERVAL)).isFalse();
        assertPausedUntil(now + INTERVAL + PAUSE);
    }

    @Test
    void shouldForgetFailuresThatAreOlderThanTheInterval() {
        for (int i = 0; i < 5; i++) {
            long now = i * INTERVAL;
            assertThat(policy.failed(now)).isFalse();
            assertPausedUntil(now + PAUSE);
        }
    }

    @Test
    void shouldCountFailuresOfConnectionsThatWereMadeInBetween() {
        assertThat(policy.failed(0)).isFalse();
        assertThat(policy.connected(PAUSE)).isFalse();
        assertThat(policy.mayConnect(PAUSE)).isTrue();
        assertThat(policy.failed(2 * PAUSE)).isFalse();
        assertThat(policy.connected(4 * PAUSE)).isFalse();
        assertThat(policy.failed(5 * PAUSE)).isTrue();
    }

    @Test
    void shouldTryAnUnreachablePeerAgainLater() {
        policy.unreachable(7);
        assertPausedUntil(7 + INTERVAL);
        assertThat(policy.connected(7 + INTERVAL)).isFalse();
        assertThat(policy.failed(8 + INTERVAL)).isFalse();
    }

    @Test
    void shouldNotPauseLongerThanAShortInterval() {
        ReconnectPolicy shortOne = new ReconnectPolicy(10);
        assertThat(shortOne.failed(0)).isFalse();
        assertThat(shortOne.mayConnect(10)).isTrue();
    }
}
