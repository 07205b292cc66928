package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RunIndexTest {
    private static final long MAP_ID = 0x2_0000_0003L;
    private static final int PARTITIONS = 35;
    private static final IndexSpan WHOLE = IndexSpan.whole(PARTITIONS);

    private final Random random = new Random(17);
    private final long[] starts = new long[PARTITIONS + 1];
    private final ByteBuffer image = image();
    private final int overhead = (int) RunImage.overhead(PARTITIONS);

    /** Partition 4 is empty. */
    private ByteBuffer image() {
        for (int p = 0; p < PARTITIONS; p++) {
            starts[p + 1] = starts[p] + (p == 4 ? 0 : 1 + random.nextInt(200));
        }
        int head = (int) RunImage.overhead(PARTITIONS);
        ByteBuffer bytes =
                ByteBuffer.allocateDirect(head + (int) starts[PARTITIONS]).order(ByteOrder.nativeOrder());
        byte[] data = new byte[(int) starts[PARTITIONS]];
        random.nextBytes(data);
        bytes.put(head, data);
        assertThat(RunImage.seal(bytes, MAP_ID, BlockLayout.ROWS, starts).partitions())
                .isEqualTo(PARTITIONS);
        return bytes;
    }

    private ByteBuffer head() {
        ByteBuffer head = ByteBuffer.allocateDirect(overhead);
        head.put(image.duplicate().clear().limit(overhead)).clear();
        return head;
    }

    private RunIndex copyOf(ByteBuffer head) throws CorruptMetadataException {
        return RunIndex.copyOf(windows(head, WHOLE), MAP_ID, WHOLE, image.capacity());
    }

    private static ByteBuffer windows(ByteBuffer head, IndexSpan span) {
        return head.slice(span.offset(), span.bytes());
    }

    @Test
    void shouldKnowTheSlicesWithoutTheData() throws CorruptMetadataException {
        RunImage run = RunImage.open(image, MAP_ID, PARTITIONS);
        ByteBuffer head = head();
        RunIndex index = copyOf(head);
        // A copy: what becomes of the memory does not matter.
        head.put(new byte[overhead]);
        assertThat(index.layout()).isEqualTo(BlockLayout.ROWS);
        for (int p = 0; p < PARTITIONS; p++) {
            assertThat(index.sliceOffset(p)).isEqualTo(run.sliceOffset(p));
            assertThat(index.sliceLength(p)).isEqualTo(run.sliceLength(p));
            assertThat(index.sliceCrc(p)).isEqualTo(run.sliceCrc(p));
            for (int end = p; end <= PARTITIONS; end++) {
                assertThat(index.rangeLength(p, end)).isEqualTo(run.rangeLength(p, end));
            }
        }
    }

    @Test
    void shouldDetectEveryFlippedBit() {
        for (int bit = 8 * WHOLE.offset(); bit < 8 * (WHOLE.offset() + WHOLE.bytes()); bit++) {
            ByteBuffer head = head();
            head.put(bit / 8, (byte) (head.get(bit / 8) ^ 1 << bit % 8));
            assertThatThrownBy(() -> copyOf(head)).as("bit %d", bit).isInstanceOf(CorruptMetadataException.class);
        }
    }

    @Test
    void shouldRefuseTheIndexOfAnotherRun() {
        ByteBuffer windows = windows(head(), WHOLE);
        assertThatThrownBy(() -> RunIndex.copyOf(windows, MAP_ID + 1, WHOLE, image.capacity()))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("is another run's");
        assertThatThrownBy(() -> RunIndex.copyOf(windows, MAP_ID, IndexSpan.whole(PARTITIONS - 1), image.capacity()))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("is another run's");
        for (long length : new long[] {0, overhead - 1, overhead, image.capacity() - 1, image.capacity() + 1}) {
            assertThatThrownBy(() -> RunIndex.copyOf(windows, MAP_ID, WHOLE, length))
                    .isInstanceOf(CorruptMetadataException.class);
        }
        ByteBuffer cut = windows.slice(0, WHOLE.bytes() - 1);
        assertThatThrownBy(() -> RunIndex.copyOf(cut, MAP_ID, WHOLE, image.capacity()))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("too short");
    }

    @Test
    void shouldKnowASpanAsTheWholeDoes() throws CorruptMetadataException {
        RunIndex whole = copyOf(head());
        for (int first = 0; first < WHOLE.endWindow(); first++) {
            for (int end = first + 1; end <= WHOLE.endWindow(); end++) {
                IndexSpan span = new IndexSpan(PARTITIONS, first, end);
                RunIndex part = RunIndex.copyOf(windows(head(), span), MAP_ID, span, image.capacity());
                assertThat(part.layout()).isEqualTo(BlockLayout.ROWS);
                for (int p = span.startReduceId(); p < span.endReduceId(); p++) {
                    assertThat(part.sliceOffset(p)).isEqualTo(whole.sliceOffset(p));
                    assertThat(part.sliceLength(p)).isEqualTo(whole.sliceLength(p));
                    assertThat(part.sliceCrc(p)).isEqualTo(whole.sliceCrc(p));
                    assertThat(part.rangeLength(p, span.endReduceId()))
                            .isEqualTo(whole.rangeLength(p, span.endReduceId()));
                }
            }
        }
    }

    @Test
    void shouldRefuseOtherWindowsThanWereAskedFor() {
        IndexSpan first = new IndexSpan(PARTITIONS, 0, 1);
        IndexSpan second = new IndexSpan(PARTITIONS, 1, 2);
        for (IndexSpan[] swapped : new IndexSpan[][] {{first, second}, {second, first}}) {
            assertThatThrownBy(() -> RunIndex.copyOf(windows(head(), swapped[0]), MAP_ID, swapped[1], image.capacity()))
                    .isInstanceOf(CorruptMetadataException.class)
                    .hasMessageContaining("firstPartition=" + swapped[1].startReduceId());
        }
    }

    @Test
    void shouldVerifyEveryByteOfAPart() throws CorruptMetadataException {
        RunIndex index = copyOf(head());
        for (int from = 0; from < PARTITIONS; from++) {
            for (int to = from + 1; to <= PARTITIONS; to++) {
                RunPart part = part(index, from, to, -1);
                assertThat(part.layout()).isEqualTo(BlockLayout.ROWS);
                assertThat(part.rangeLength(from, to)).isEqualTo(starts[to] - starts[from]);
                for (int p = from; p < to; p++) {
                    part.verify(p);
                    assertThat(part.sliceAddress(p) - part.sliceAddress(from)).isEqualTo(starts[p] - starts[from]);
                    assertThat(part.sliceLength(p)).isEqualTo(starts[p + 1] - starts[p]);
                }
            }
        }
        for (int at = (int) starts[2]; at < starts[6]; at++) {
            RunPart part = part(index, 2, 6, at);
            for (int p = 2; p < 6; p++) {
                int verified = p;
                if (at >= starts[p] && at < starts[p + 1]) {
                    assertThatThrownBy(() -> part.verify(verified))
                            .isInstanceOf(CorruptMetadataException.class)
                            .hasMessageContaining("partition=" + p);
                } else {
                    part.verify(p);
                }
            }
        }
    }

    private RunPart part(RunIndex index, int from, int to, int flipped) {
        int length = (int) (starts[to] - starts[from]);
        ByteBuffer data = ByteBuffer.allocateDirect(length);
        data.put(image.duplicate().clear().slice(overhead + (int) starts[from], length))
                .clear();
        if (flipped >= 0) {
            int at = flipped - (int) starts[from];
            data.put(at, (byte) (data.get(at) ^ 0x10));
        }
        return new RunPart(index, from, data);
    }
}
