package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metadata.BlockFrame.ChecksumKind;
import io.verbena.shuffle.metadata.BlockFrame.Entry;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.junit.jupiter.api.Test;

class BlockFrameTest {
    private static final BlockFrame FRAME = new BlockFrame(
            BlockLayout.WRAPPED,
            ChecksumKind.CRC32C,
            List.of(new Entry(3, 10, 0xffffffffL), new Entry(3, 0, 0), new Entry(5, 1L << 40, 7)));

    private static byte[] bytes(BlockFrame frame) {
        ByteBuffer head = frame.encode();
        byte[] copy = new byte[head.remaining()];
        head.get(copy);
        return copy;
    }

    private static BlockFrame decode(byte[] head, int start, int end) throws IOException {
        return BlockFrame.decode(new ByteArrayInputStream(head), start, end);
    }

    @Test
    void shouldReadWhatItWroteForEveryLayoutAndChecksum() throws IOException {
        for (BlockLayout layout : BlockLayout.values()) {
            for (ChecksumKind kind : ChecksumKind.values()) {
                BlockFrame frame = new BlockFrame(layout, kind, FRAME.entries());
                ByteBuffer head = frame.encode();
                assertThat(head.remaining()).isEqualTo((int) frame.headLength());
                assertThat(decode(bytes(frame), 3, 6)).isEqualTo(frame);
            }
        }
        BlockFrame empty = new BlockFrame(BlockLayout.SPARK, ChecksumKind.NONE, List.of());
        assertThat(decode(bytes(empty), 0, 0)).isEqualTo(empty);
    }

    @Test
    void shouldLeaveTheStreamAtTheFirstSlice() throws IOException {
        InputStream in = new SequenceInputStream(
                new ByteArrayInputStream(bytes(FRAME)), new ByteArrayInputStream(new byte[] {42}));
        assertThat(BlockFrame.decode(in, 0, 9)).isEqualTo(FRAME);
        assertThat(in.read()).isEqualTo(42);
    }

    @Test
    void shouldDetectEveryTruncation() {
        byte[] head = bytes(FRAME);
        for (int length = 0; length < head.length; length++) {
            byte[] cut = Arrays.copyOf(head, length);
            assertThatThrownBy(() -> decode(cut, 0, 9))
                    .as("length %d", length)
                    .isInstanceOf(CorruptMetadataException.class);
        }
    }

    /** Also when the flipped count promises far more slices than there are bytes. */
    @Test
    void shouldDetectEveryFlippedByte() {
        byte[] head = bytes(FRAME);
        for (int i = 0; i < head.length; i++) {
            for (int mask : new int[] {0x01, 0x80, 0xff}) {
                byte[] flipped = head.clone();
                flipped[i] ^= (byte) mask;
                assertThatThrownBy(() -> decode(flipped, 0, Integer.MAX_VALUE))
                        .as("byte %d, mask 0x%x", i, mask)
                        .isInstanceOf(CorruptMetadataException.class);
            }
        }
    }

    @Test
    void shouldNotAllocateForSlicesThatNeverCome() {
        byte[] head = bytes(FRAME);
        ByteBuffer.wrap(head).putInt(12, 1 << 24);
        InputStream in = new ByteArrayInputStream(head) {
            @Override
            public synchronized int read(byte[] target, int offset, int length) {
                // 16 M slices of 20 bytes: an array for all of them would be 335 MB.
                assertThat(target.length).isLessThanOrEqualTo(1 << 20);
                return super.read(target, offset, length);
            }

            @Override
            public synchronized byte[] readNBytes(int length) throws IOException {
                // ByteArrayInputStream's own knows its length; a network stream does not.
                return new SequenceInputStream(this, InputStream.nullInputStream()).readNBytes(length);
            }
        };
        assertThatThrownBy(() -> BlockFrame.decode(in, 0, 9))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("ends within its head");
        ByteBuffer.wrap(head).putInt(12, (1 << 24) + 1);
        assertThatThrownBy(() -> decode(head, 0, 9)).hasMessageContaining("impossible count");
        ByteBuffer.wrap(head).putInt(12, -1);
        assertThatThrownBy(() -> decode(head, 0, 9)).hasMessageContaining("impossible count");
    }

    @Test
    void shouldRefuseSlicesThatWereNotAskedFor() throws IOException {
        byte[] head = bytes(FRAME);
        assertThat(decode(head, 3, 6)).isEqualTo(FRAME);
        for (int[] asked : new int[][] {{4, 6}, {3, 5}, {0, 3}, {6, 9}, {3, 3}}) {
            assertThatThrownBy(() -> decode(head, asked[0], asked[1]))
                    .isInstanceOf(CorruptMetadataException.class)
                    .hasMessageContaining("not asked for")
                    .hasMessageContaining("[" + asked[0] + ", " + asked[1] + ")");
        }
    }

    @Test
    void shouldRefuseSlicesOutOfOrderAndNegativeLengths() {
        List<List<Entry>> wrong = List.of(
                List.of(new Entry(5, 1, 0), new Entry(3, 1, 0)),
                List.of(new Entry(5, -1, 0)),
                List.of(new Entry(-1, 1, 0)));
        for (List<Entry> entries : wrong) {
            byte[] head = bytes(new BlockFrame(BlockLayout.ROWS, ChecksumKind.CRC32C, entries));
            assertThatThrownBy(() -> decode(head, 0, 9)).isInstanceOf(CorruptMetadataException.class);
        }
    }

    @Test
    void shouldRefuseAnotherVersion() {
        byte[] head = bytes(FRAME);
        ByteBuffer.wrap(head).putShort(4, (short) 2);
        assertThatThrownBy(() -> decode(head, 0, 9))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("version")
                .hasMessageContaining("got=0x2")
                .hasMessageContaining("expected=0x1");
    }

    @Test
    void shouldMakeSparksChecksums() {
        byte[] text = "shuffle".getBytes(StandardCharsets.US_ASCII);
        assertThat(ChecksumKind.NONE.newChecksum()).isNull();
        assertThat(sum(ChecksumKind.ADLER32.newChecksum(), text)).isEqualTo(sum(new Adler32(), text));
        assertThat(sum(ChecksumKind.CRC32.newChecksum(), text)).isEqualTo(sum(new CRC32(), text));
        assertThat(sum(ChecksumKind.CRC32C.newChecksum(), text)).isEqualTo(sum(new CRC32C(), text));
    }

    private static long sum(Checksum checksum, byte[] bytes) {
        checksum.update(bytes, 0, bytes.length);
        return checksum.getValue();
    }

    @Test
    void shouldKnowItsLayoutsByCode() throws CorruptMetadataException {
        for (BlockLayout layout : BlockLayout.values()) {
            assertThat(BlockLayout.ofCode(layout.code())).isEqualTo(layout);
        }
        for (int code : new int[] {0, -1, 7, 0xffff}) {
            assertThatThrownBy(() -> BlockLayout.ofCode(code)).isInstanceOf(CorruptMetadataException.class);
        }
    }
}
