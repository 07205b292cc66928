package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metadata.MapOutputDirectory.Entry;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

class MapOutputDirectoryTest {
    private static final MapOutputDirectory SMALL = new MapOutputDirectory(
            9,
            Map.of(
                    7L,
                    Entry.inMemory(List.of(new RunLocation(-1L, -1, 1L << 33), new RunLocation(4096, 3, 64))),
                    8L,
                    Entry.SERVED,
                    Long.MAX_VALUE,
                    Entry.inMemory(List.of())));

    /** A message with this payload whose envelope is right. */
    private static byte[] sealedAgain(byte[] message, byte[] payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload);
        return ByteBuffer.allocate(16 + payload.length)
                .put(message, 0, 8)
                .putInt(payload.length)
                .putInt((int) crc.getValue())
                .put(payload)
                .array();
    }

    @Test
    void shouldReadWhatItWrote() throws CorruptMetadataException {
        assertThat(MapOutputDirectory.decode(SMALL.encode(), 9)).isEqualTo(SMALL);
        MapOutputDirectory empty = new MapOutputDirectory(0, Map.of());
        assertThat(MapOutputDirectory.decode(empty.encode(), 0)).isEqualTo(empty);
    }

    @Test
    void shouldReadWhatItWroteForManyMapOutputs() throws CorruptMetadataException {
        Random random = new Random(21);
        Map<Long, Entry> outputs = new HashMap<>();
        for (long mapId = 0; mapId < 5000; mapId++) {
            List<RunLocation> runs = new ArrayList<>();
            for (int run = random.nextInt(4); run > 0; run--) {
                runs.add(new RunLocation(random.nextLong(), random.nextInt(), random.nextLong()));
            }
            outputs.put(
                    random.nextLong(),
                    switch (random.nextInt(6)) {
                        case 0 -> Entry.SERVED;
                        case 1 -> Entry.MAY_BE_PINNED;
                        default -> Entry.inMemory(runs);
                    });
        }
        MapOutputDirectory directory = new MapOutputDirectory(1, outputs);
        assertThat(MapOutputDirectory.decode(directory.encode(), 1)).isEqualTo(directory);
    }

    @Test
    void shouldDetectEveryTruncationAndEveryTrailingByte() {
        byte[] message = SMALL.encode();
        for (int length = 0; length < message.length; length++) {
            byte[] cut = Arrays.copyOf(message, length);
            assertThatThrownBy(() -> MapOutputDirectory.decode(cut, 9)).isInstanceOf(CorruptMetadataException.class);
        }
        byte[] padded = Arrays.copyOf(message, message.length + 1);
        assertThatThrownBy(() -> MapOutputDirectory.decode(padded, 9)).isInstanceOf(CorruptMetadataException.class);
    }

    @Test
    void shouldDetectEveryFlippedByte() {
        byte[] message = SMALL.encode();
        for (int i = 0; i < message.length; i++) {
            for (int mask : new int[] {0x01, 0x80, 0xff}) {
                byte[] flipped = message.clone();
                flipped[i] ^= (byte) mask;
                assertThatThrownBy(() -> MapOutputDirectory.decode(flipped, 9))
                        .as("byte %d, mask 0x%x", i, mask)
                        .isInstanceOf(CorruptMetadataException.class);
            }
        }
    }

    /** A peer with a defect can send damage in a right envelope. */
    @Test
    void shouldRefuseAPayloadThatDoesNotAddUp() {
        byte[] message = SMALL.encode();
        byte[] payload = Arrays.copyOfRange(message, 16, message.length);
        for (int length = 0; length < payload.length; length++) {
            byte[] cut = sealedAgain(message, Arrays.copyOf(payload, length));
            assertThatThrownBy(() -> MapOutputDirectory.decode(cut, 9)).isInstanceOf(CorruptMetadataException.class);
        }
        byte[] padded = sealedAgain(message, Arrays.copyOf(payload, payload.length + 3));
        assertThatThrownBy(() -> MapOutputDirectory.decode(padded, 9))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("trailing bytes");
        for (int count : new int[] {-1, -2, Integer.MAX_VALUE, 1 << 20}) {
            byte[] wrong = payload.clone();
            ByteBuffer.wrap(wrong).putInt(4, count);
            assertThatThrownBy(() -> MapOutputDirectory.decode(sealedAgain(message, wrong), 9))
                    .isInstanceOf(CorruptMetadataException.class)
                    .hasMessageContaining("impossible count of entries");
        }
        for (int runs : new int[] {-3, Integer.MIN_VALUE, Integer.MAX_VALUE, 1 << 20}) {
            byte[] wrong = payload.clone();
            ByteBuffer.wrap(wrong).putInt(16, runs);
            assertThatThrownBy(() -> MapOutputDirectory.decode(sealedAgain(message, wrong), 9))
                    .isInstanceOf(CorruptMetadataException.class)
                    .hasMessageContaining("impossible count of runs");
        }
    }

    @Test
    void shouldRefuseAnotherShuffle() {
        assertThatThrownBy(() -> MapOutputDirectory.decode(SMALL.encode(), 10))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("got=9")
                .hasMessageContaining("expected=10");
    }

    @Test
    void shouldNameBothVersionsWhenTheyDiffer() {
        byte[] message = SMALL.encode();
        ByteBuffer.wrap(message).putInt(4, 77);
        assertThatThrownBy(() -> MapOutputDirectory.decode(message, 9))
                .isInstanceOf(CorruptMetadataException.class)
                .hasMessageContaining("theirs=77")
                .hasMessageContaining("ours=" + MapOutputDirectory.VERSION)
                .hasMessageContaining("same Verbena jar");
    }
}
