package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PinnedFileTest {
    private static final long[] STARTS = {0, 10, 10, 25};
    private static final int[] SUMS = {7, 0, -9};
    private static final PinnedFile FILE = PinnedFile.at(
            new RunLocation(1L << 40, -5, RunImage.overhead(3) + 25),
            RunImage.head(12, BlockLayout.SPARK, STARTS, SUMS),
            IndexSpan.whole(3));

    @Test
    void shouldCarryAnIndexThatReadsAsThatOfARun() throws CorruptMetadataException {
        PinnedFile read = PinnedFile.decode(FILE.encode(3, 12), 3, 12);
        assertThat(read.location()).isEqualTo(FILE.location());
        assertThat(read.refusal()).isNull();
        RunIndex index = RunIndex.copyOf(
                read.windows(), 12, IndexSpan.whole(3), read.location().length());
        assertThat(index.layout()).isEqualTo(BlockLayout.SPARK);
        for (int p = 0; p < 3; p++) {
            assertThat(index.sliceOffset(p)).isEqualTo(RunImage.overhead(3) + STARTS[p]);
            assertThat(index.sliceLength(p)).isEqualTo(STARTS[p + 1] - STARTS[p]);
            assertThat(index.sliceCrc(p)).isEqualTo(SUMS[p]);
        }
    }

    @Test
    void shouldMakeTheHeadThatASealedRunHas() {
        ByteBuffer image = ByteBuffer.allocateDirect((int) RunImage.overhead(3) + 25);
        image.put((int) RunImage.overhead(3) + 4, (byte) 99);
        RunImage sealed = RunImage.seal(image, 12, BlockLayout.SPARK, STARTS);
        int[] sums = {sealed.sliceCrc(0), sealed.sliceCrc(1), sealed.sliceCrc(2)};
        int length = 64 + 140;
        assertThat(RunImage.head(12, BlockLayout.SPARK, STARTS, sums).slice(0, length))
                .isEqualTo(image.slice(0, length));
    }

    @Test
    void shouldCarryARefusal() throws CorruptMetadataException {
        PinnedFile read =
                PinnedFile.decode(PinnedFile.refused("no room, größer").encode(3, 12), 3, 12);
        assertThat(read.refusal()).isEqualTo("no room, größer");
        assertThat(read.location()).isNull();
    }

    @Test
    void shouldDetectDamageAndAnswersForOthers() {
        byte[] message = FILE.encode(3, 12);
        for (int length = 0; length < message.length; length++) {
            byte[] cut = Arrays.copyOf(message, length);
            assertThatThrownBy(() -> PinnedFile.decode(cut, 3, 12)).isInstanceOf(CorruptMetadataException.class);
        }
        for (int at = 0; at < message.length; at++) {
            byte[] flipped = message.clone();
            flipped[at] ^= 1;
            assertThatThrownBy(() -> PinnedFile.decode(flipped, 3, 12)).isInstanceOf(CorruptMetadataException.class);
        }
        assertThatThrownBy(() -> PinnedFile.decode(message, 4, 12)).hasMessageContaining("shuffleId=3");
        assertThatThrownBy(() -> PinnedFile.decode(message, 3, 13)).hasMessageContaining("mapId=12");
    }
}
