package io.verbena.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.SegmentFile;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.TransportException.Reason;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class EndpointDescriptorTest {
    private static final SegmentFile FILE = new SegmentFile(Path.of("/dev/shm/a/leases"), 27, 1L << 40);

    private static EndpointDescriptor withSegment(long length) {
        return new EndpointDescriptor(
                "mapped",
                "boot",
                new UUID(1, 2),
                FILE,
                List.of(
                        new SegmentEntry(1, 0x7f0000000000L, length, -5, FILE),
                        new SegmentEntry(2, 4096, 64, 6, null)));
    }

    @Test
    void shouldDecodeWhatItEncodes() throws Exception {
        EndpointDescriptor full = withSegment(1 << 20);
        assertThat(EndpointDescriptor.decode(full.encode())).isEqualTo(full);
        EndpointDescriptor empty = new EndpointDescriptor("loopback", "", new UUID(3, 4), null, List.of());
        assertThat(EndpointDescriptor.decode(empty.encode())).isEqualTo(empty);
    }

    @Test
    void shouldBeginWithMagicAndVersion() {
        ByteBuffer bytes = ByteBuffer.wrap(withSegment(64).encode());
        assertThat(bytes.getInt()).isEqualTo(EndpointDescriptor.MAGIC);
        assertThat(bytes.getInt()).isEqualTo(EndpointDescriptor.VERSION);
    }

    @Test
    void shouldRefuseImpossibleSegmentLengths() {
        for (long length : new long[] {0, -1, Long.MIN_VALUE, (1L << 30) + 1}) {
            byte[] bytes = withSegment(length).encode();
            assertThatThrownBy(() -> EndpointDescriptor.decode(bytes))
                    .isInstanceOfSatisfying(
                            TransportException.class,
                            e -> assertThat(e.reason()).isEqualTo(Reason.CORRUPT_DESCRIPTOR));
        }
    }

    @Test
    void shouldLocateRangesWithoutOverflow() {
        SegmentEntry entry = new SegmentEntry(1, 1000, 100, 1, null);
        assertThat(entry.offsetOf(1000, 100)).isZero();
        assertThat(entry.offsetOf(1099, 1)).isEqualTo(99);
        assertThat(entry.offsetOf(1100, 0)).isEqualTo(100);
        assertThat(entry.offsetOf(1099, 2)).isEqualTo(-1);
        assertThat(entry.offsetOf(999, 1)).isEqualTo(-1);
        assertThat(entry.offsetOf(1000, -1)).isEqualTo(-1);
        assertThat(entry.offsetOf(1001, Long.MAX_VALUE)).isEqualTo(-1);
        assertThat(entry.offsetOf(Long.MIN_VALUE, 1)).isEqualTo(-1);
        assertThat(entry.offsetOf(Long.MAX_VALUE, Long.MAX_VALUE)).isEqualTo(-1);
    }
}
