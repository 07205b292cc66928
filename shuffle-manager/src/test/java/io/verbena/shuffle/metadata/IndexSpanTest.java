package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class IndexSpanTest {
    @Test
    void shouldTakeASmallIndexWhole() {
        for (int partitions : new int[] {1, 16, 200, 512}) {
            IndexSpan span = IndexSpan.of(partitions - 1, partitions, partitions);
            assertThat(span.isWhole()).isTrue();
            assertThat(span).isEqualTo(IndexSpan.whole(partitions));
            assertThat(span.startReduceId()).isZero();
            assertThat(span.endReduceId()).isEqualTo(partitions);
            assertThat(span.offset() + span.bytes()).isLessThanOrEqualTo((int) RunImage.overhead(partitions));
        }
    }

    @Test
    void shouldTakeOnlyTheWindowsThatHoldTheRangeOfALargeIndex() {
        int partitions = 1003;
        for (int start = 0; start < partitions; start++) {
            for (int end = start + 1; end <= Math.min(partitions, start + 70); end++) {
                IndexSpan span = IndexSpan.of(start, end, partitions);
                assertThat(span.isWhole()).isFalse();
                assertThat(span.startReduceId()).isBetween(start - 15, start);
                assertThat(span.endReduceId()).isBetween(end, Math.min(partitions, end + 15));
                assertThat(span.offset()).isEqualTo(64 + start / 16 * 140);
                assertThat(span.bytes()).isEqualTo(((end + 15) / 16 - start / 16) * 140);
            }
        }
        assertThat(IndexSpan.of(0, partitions, partitions).isWhole()).isTrue();
    }
}
