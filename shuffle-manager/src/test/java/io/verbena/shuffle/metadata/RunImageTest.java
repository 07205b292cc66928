package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RunImageTest {
    private static final long MAP_ID = 0x1_0000_0007L;

    /** A sealed image over blocks of these sizes, filled with random bytes. */
    private static ByteBuffer sealed(Random random, long mapId, BlockLayout layout, int... sizes) {
        long[] starts = new long[sizes.length + 1];
        for (int p = 0; p < sizes.length; p++) {
            starts[p + 1] = starts[p] + sizes[p];
        }
        int head = (int) RunImage.overhead(sizes.length);
        ByteBuffer image =
                ByteBuffer.allocateDirect(head + (int) starts[sizes.length]).order(ByteOrder.nativeOrder());
        byte[] data = new byte[image.capacity() - head];
        random.nextBytes(data);
        image.put(head, data);
        RunImage run = RunImage.seal(image, mapId, layout, starts);
        assertThat(run.partitions()).isEqualTo(sizes.length);
        return image;
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return copy;
    }

    private static byte[] data(ByteBuffer image, int partitions, int from, int to) {
        byte[] copy = new byte[to - from];
        image.get((int) RunImage.overhead(partitions) + from, copy);
        return copy;
    }

    @Test
    void shouldFindEveryBlockAgainWhenOpened() throws CorruptMetadataException {
        Random random = new Random(11);
        for (int partitions : new int[] {1, 2, 3, 15, 16, 17, 63, 64, 200, 3000}) {
            int[] sizes =
                    random.ints(partitions, 0, 90).map(n -> n % 3 == 0 ? 0 : n).toArray();
            ByteBuffer image = sealed(random, MAP_ID, BlockLayout.RECORDS, sizes);

            RunImage run = RunImage.open(image, MAP_ID, partitions);

            assertThat(run.layout()).isEqualTo(BlockLayout.RECORDS);
            assertThat(run.partitions()).isEqualTo(partitions);
            int start = 0;
            for (int p = 0; p < partitions; p++) {
                byte[] expected = data(image, partitions, start, start + sizes[p]);
                assertThat(run.sliceLength(p)).isEqualTo(sizes[p]);
                assertThat(bytes(run.slice(p))).isEqualTo(expected);
                byte[] byAddress = new byte[sizes[p]];
                OffHeap.copy(null, run.sliceAddress(p), byAddress, OffHeap.BYTE_ARRAY_OFFSET, sizes[p]);
                assertThat(byAddress).isEqualTo(expected);
                assertThat(run.sliceOffset(p)).isEqualTo(RunImage.overhead(partitions) + start);
                run.verify(p);
                start += sizes[p];
            }
            for (int from = 0; from < partitions; from += 1 + partitions / 7) {
                int to = Math.min(partitions, from + 5);
                assertThat(run.rangeLength(from, to))
                        .isEqualTo(Arrays.stream(sizes, from, to).sum());
            }
        }
    }

    @Test
    void shouldHoldEveryLayoutAndNoDataAtAll() throws CorruptMetadataException {
        for (BlockLayout layout : BlockLayout.values()) {
            ByteBuffer image = sealed(new Random(1), -5, layout, 0, 0, 0);
            RunImage run = RunImage.open(image, -5, 3);
            assertThat(run.layout()).isEqualTo(layout);
            assertThat(run.rangeLength(0, 3)).isZero();
            assertThat(run.slice(2).remaining()).isZero();
            run.verify(1);
        }
    }

    @Test
    void shouldAlignTheDataSoThatRowsAreAligned() {
        for (int partitions = 1; partitions < 200; partitions++) {
            long windows = (partitions + 15L) / 16;
            assertThat(RunImage.overhead(partitions) % 64).isZero();
            assertThat(RunImage.overhead(partitions)).isBetween(64 + windows * 140, 64 + windows * 140 + 63);
        }
    }

    @Test
    void shouldGiveViewsThatDoNotShareScratch() throws CorruptMetadataException {
        ByteBuffer image = sealed(new Random(2), MAP_ID, BlockLayout.ROWS, 16, 0, 24);
        RunImage run = RunImage.open(image, MAP_ID, 3);
        RunImage view = run.view();
        ByteBuffer slice = run.slice(0);
        view.verify(2);
        assertThat(bytes(slice)).isEqualTo(data(image, 3, 0, 16));
        assertThat(bytes(view.slice(2))).isEqualTo(data(image, 3, 16, 40));
        assertThat(view.sliceAddress(2)).isEqualTo(run.sliceAddress(2));
        assertThat(view.layout()).isEqualTo(BlockLayout.ROWS);
    }

    @Test
    void shouldOpenAReadOnlyView() throws CorruptMetadataException {
        ByteBuffer image = sealed(new Random(2), MAP_ID, BlockLayout.ROWS, 16, 8);
        RunImage run = RunImage.open(image.asReadOnlyBuffer(), MAP_ID, 2);
        run.verify(0);
        run.verify(1);
        assertThat(bytes(run.slice(1))).isEqualTo(data(image, 2, 16, 24));
    }

    /** Every byte but the padding behind the index is covered; padding is never read. */
    @Test
    void shouldDetectEveryFlippedByte() {
        int[] sizes = {8, 0, 16, 40, 0, 1, 0, 64, 0, 0, 0, 0, 0, 0, 3, 5, 0, 7, 9};
        ByteBuffer image = sealed(new Random(3), MAP_ID, BlockLayout.ROWS, sizes);
        byte[] good = new byte[image.capacity()];
        image.get(0, good);
        int indexEnd = 64 + 2 * 140;
        int undetected = 0;
        for (int mask : new int[] {0x01, 0x80, 0xff, 0x10}) {
            for (int i = 0; i < image.capacity(); i++) {
                image.put(i, (byte) (good[i] ^ mask));
                boolean padding = i >= indexEnd && i < RunImage.overhead(sizes.length);
                if (isDetected(image, sizes.length) == padding) {
                    undetected++;
                }
                image.put(i, good[i]);
            }
        }
        assertThat(undetected).isZero();
    }

    private static boolean isDetected(ByteBuffer image, int partitions) {
        try {
            RunImage run = RunImage.open(image, MAP_ID, partitions);
            for (int p = 0; p < partitions; p++) {
                run.verify(p);
            }
            return false;
        } catch (CorruptMetadataException e) {
            return true;
        }
    }

    /**
     * An index is checked once and used by many tasks. A start that changes later can make a block look empty, and an empty
     * block was not compared with its checksum: its records were lost without an error.
     */
    @Test
    void shouldDetectAnIndexThatChangesAfterItWasOpened() throws CorruptMetadataException {
        int[] sizes = {64, 64, 64, 0, 64};
        ByteBuffer image = sealed(new Random(4), MAP_ID, BlockLayout.ROWS, sizes);
        RunImage run = RunImage.open(image, MAP_ID, sizes.length);
        byte[] good = new byte[image.capacity()];
        image.get(0, good);
        for (int mask : new int[] {0x40, 0x01, 0x80, 0xff}) {
            int starts = 64 + 4;
            for (int i = starts; i < starts + 4 * (sizes.length + 1); i++) {
                image.put(i, (byte) (good[i] ^ mask));
                int entry = (i - starts) / 4;
                for (int p = Math.max(0, entry - 1); p <= Math.min(entry, sizes.length - 1); p++) {
                    int partition = p;
                    // The empty block's own bounds may move together with a neighbour's only if it stays empty.
                    assertThatThrownBy(() -> run.verify(partition))
                            .as("byte %d, mask 0x%x, partition %d", i, mask, partition)
                            .isInstanceOf(CorruptMetadataException.class);
                }
                image.put(i, good[i]);
            }
        }
        for (int p = 0; p < sizes.length; p++) {
            run.verify(p);
        }
    }

    @Test
    void shouldRefuseTheRunOfAnotherMapOutput() {
        ByteBuffer image = sealed(new Random(5), MAP_ID, BlockLayout.ROWS, 8, 8);
        assertThatThrownBy(() -> RunImage.open(image, MAP_ID + 1, 2))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("map id")
                .hasMessageContaining("got=" + MAP_ID)
                .hasMessageContaining("expected=" + (MAP_ID + 1));
        assertThatThrownBy(() -> RunImage.open(image, MAP_ID, 1))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("partitions");
        assertThatThrownBy(() -> RunImage.open(image, MAP_ID, 3)).isInstanceOf(CorruptMetadataException.class);
        assertThatThrownBy(() -> RunImage.open(image, MAP_ID, 3000))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("too short");
    }

    @Test
    void shouldRefuseEveryWrongSize() {
        ByteBuffer image = sealed(new Random(6), MAP_ID, BlockLayout.ROWS, 8, 24, 8);
        for (int length = 0; length < image.capacity(); length++) {
            ByteBuffer cut = image.slice(0, length);
            assertThatThrownBy(() -> RunImage.open(cut, MAP_ID, 3)).isInstanceOf(CorruptMetadataException.class);
        }
        ByteBuffer padded = ByteBuffer.allocateDirect(image.capacity() + 1);
        padded.put(0, image, 0, image.capacity());
        assertThatThrownBy(() -> RunImage.open(padded, MAP_ID, 3))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("data length");
        assertThatThrownBy(() -> RunImage.seal(padded, MAP_ID, BlockLayout.ROWS, new long[] {0, 8, 32, 40}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("wrong size");
    }

    @Test
    void shouldRefuseMemoryThatWasNeverARun() {
        Random random = new Random(7);
        ByteBuffer noise = ByteBuffer.allocateDirect(512);
        for (int round = 0; round < 1000; round++) {
            byte[] bytes = new byte[512];
            random.nextBytes(bytes);
            noise.put(0, bytes);
            assertThatThrownBy(() -> RunImage.open(noise, MAP_ID, 4)).isInstanceOf(CorruptMetadataException.class);
        }
    }
}
