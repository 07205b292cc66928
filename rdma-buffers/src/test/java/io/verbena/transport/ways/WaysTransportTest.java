package io.verbena.transport.ways;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import io.verbena.transport.loopback.LoopbackTransport;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WaysTransportTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final FixedTransport first = new FixedTransport("first", new byte[] {1});
    private final FixedTransport second = new FixedTransport("second", new byte[] {2, 3});

    private static void assertFails(Reason reason, Transport reader, byte[] descriptor, String... words) {
        assertThatThrownBy(() -> reader.connect(descriptor, TIMEOUT))
                .isInstanceOfSatisfying(
                        TransportException.class, e -> assertThat(e.reason()).isEqualTo(reason))
                .hasMessageContainingAll(words);
    }

    @Test
    void shouldPublishEveryPart() throws Exception {
        WaysTransport both = new WaysTransport(List.of(first, second));
        assertThat(both.name()).isEqualTo("first+second");
        assertThat(WaysDescriptor.decode(both.descriptor()))
                .containsOnly(Map.entry("first", new byte[] {1}), Map.entry("second", new byte[] {2, 3}));
        assertThat(WaysDescriptor.decode(WaysDescriptor.encode(Map.of()))).isEmpty();
    }

    @Test
    void shouldTryTheNextPartAndTellEveryReason() {
        WaysTransport both = new WaysTransport(List.of(first, second));
        assertFails(
                Reason.NOT_REACHABLE,
                both,
                both.descriptor(),
                "first: first does not lead there",
                "second: second does not lead there");
        assertThat(second.lastTimeout).isPositive().isLessThanOrEqualTo(TIMEOUT);
        byte[] secondOnly = new WaysTransport(List.of(second)).descriptor();
        assertFails(Reason.NOT_REACHABLE, both, secondOnly, "first: the peer does not have it");
        first.refusal = Reason.TIMEOUT;
        assertFails(Reason.TIMEOUT, both, both.descriptor(), "first does not lead", "second does not lead");
    }

    @Test
    void shouldPassOnWhatAnotherWayWouldNotMend() {
        WaysTransport both = new WaysTransport(List.of(first, second));
        for (Reason reason : List.of(Reason.VERSION_MISMATCH, Reason.CORRUPT_DESCRIPTOR, Reason.CLOSED)) {
            first.refusal = reason;
            assertFails(reason, both, both.descriptor(), "first does not lead there");
        }
        assertThat(second.lastTimeout).isNull();
    }

    @Test
    void shouldConnectByTheFirstPartThatLeadsThere() throws Exception {
        LoopbackTransport owner = new LoopbackTransport(List::of);
        LoopbackTransport own = new LoopbackTransport(List::of);
        WaysTransport serving = new WaysTransport(List.of(first, owner));
        WaysTransport reading = new WaysTransport(List.of(first, own));
        try (RemoteMemory memory = reading.connect(serving.descriptor(), TIMEOUT)) {
            assertThat(memory.transport()).isEqualTo("loopback");
            memory.refresh(serving.descriptor());
            byte[] without = new WaysTransport(List.of(first)).descriptor();
            assertThatThrownBy(() -> memory.refresh(without))
                    .isInstanceOfSatisfying(
                            TransportException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.PEER_GONE));
        }
        serving.close();
        reading.close();
        assertThat(first.closed).isTrue();
    }

    @Test
    void shouldBeUnreadWhenEveryPartIs() {
        LoopbackTransport loopback = new LoopbackTransport(List::of);
        WaysTransport both = new WaysTransport(List.of(loopback, first));
        assertThat(both.unread(1)).isTrue();
        first.unread = false;
        assertThat(both.unread(1)).isFalse();
        first.unread = true;
        try (ReadLease lease = both.leaseLocal(1)) {
            assertThat(both.unread(lease.key())).isFalse();
        }
        assertThat(both.unread(1)).isTrue();
        both.close();
    }

    @Test
    void shouldRefusePartsThatCannotBeToldApart() {
        FixedTransport same = new FixedTransport("first", new byte[0]);
        assertThatThrownBy(() -> new WaysTransport(List.of(first, same))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new WaysTransport(List.of())).isInstanceOf(IllegalArgumentException.class);
    }
}
