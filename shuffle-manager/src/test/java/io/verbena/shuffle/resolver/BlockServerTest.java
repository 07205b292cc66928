package io.verbena.shuffle.resolver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockFrame.ChecksumKind;
import io.verbena.shuffle.metadata.BlockFrame.Entry;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.CorruptMetadataException;
import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.testing.TestExecutor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class BlockServerTest {
    @TempDir
    Path folder;

    private TestExecutor executor;
    private BlockServer server;

    @BeforeEach
    void setUp() {
        executor = new TestExecutor("map", folder, 1 << 20, 2, 1 << 16, false, null);
        server = executor.server();
        executor.store()
                .commit(
                        1,
                        executor.memory()
                                .output(7, BlockLayout.WRAPPED, new byte[][] {{1}, {2, 2}, {}, {3}}, new byte[][] {
                                    {}, {4}, {}, {5, 5, 5}
                                }));
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(executor.memory().transport().unread(1)).isTrue();
        executor.close();
    }

    private static Entry entry(int reduceId, byte... bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return new Entry(reduceId, bytes.length, crc.getValue());
    }

    @Test
    void shouldFrameARangePartitionByPartitionAndRunByRun() throws IOException {
        ManagedBuffer buffer = server.frame(1, 7, 1, 4);
        assertThat(executor.memory().transport().unread(1)).isFalse();
        try (InputStream in = buffer.createInputStream()) {
            BlockFrame frame = BlockFrame.decode(in, 1, 4);
            assertThat(frame.layout()).isEqualTo(BlockLayout.WRAPPED);
            assertThat(frame.checksumKind()).isEqualTo(ChecksumKind.CRC32C);
            assertThat(frame.entries())
                    .isEqualTo(List.of(
                            entry(1, (byte) 2, (byte) 2),
                            entry(1, (byte) 4),
                            entry(3, (byte) 3),
                            entry(3, (byte) 5, (byte) 5, (byte) 5)));
            assertThat(in.readAllBytes()).containsExactly(2, 2, 4, 3, 5, 5, 5);
        }
        buffer.release();
        ManagedBuffer empty = server.frame(1, 7, 2, 3);
        assertThat(BlockFrame.decode(empty.createInputStream(), 2, 3).entries()).isEmpty();
        empty.release();
        server.frame(1, 7, 4, 4).release();
    }

    @Test
    void shouldRefuseWhatItDoesNotHold() {
        int[][] ranges = {{-1, 2}, {3, 2}, {0, 5}, {5, 5}};
        for (int[] range : ranges) {
            assertThatThrownBy(() -> server.frame(1, 7, range[0], range[1]))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("blocks do not exist")
                    .hasMessageContaining("[" + range[0] + ", " + range[1] + ")");
        }
        assertThatThrownBy(() -> server.frame(1, 8, 0, 1)).hasMessageContaining("not on this executor");
        assertThatThrownBy(() -> server.frame(2, 7, 0, 1)).hasMessageContaining("not on this executor");
    }

    /** Otherwise the blocks would be left out of the frame, and nobody would miss them. */
    @Test
    void shouldRefuseBlocksThatOnlyLookEmpty() {
        MapOutput.InMemory output = (MapOutput.InMemory) executor.store().get(1, 7);
        ByteBuffer run = output.runs().get(0).buffer().order(ByteOrder.nativeOrder());
        int endOfFirst = 64 + 4 + 4;
        assertThat(run.getInt(endOfFirst)).isEqualTo(1);
        run.putInt(endOfFirst, 0);
        assertThatThrownBy(() -> server.frame(1, 7, 0, 1)).isInstanceOf(CorruptMetadataException.class);
    }

    @Test
    void shouldTellItsDirectoryAndItsEndpoint() throws IOException {
        ByteBuffer bytes = server.directory(1).nioByteBuffer();
        byte[] message = new byte[bytes.remaining()];
        bytes.get(message);
        assertThat(MapOutputDirectory.decode(message, 1).outputs().keySet()).containsExactly(7L);
        assertThat(server.endpoint().size())
                .isEqualTo(executor.memory().transport().descriptor().length);
        assertThat(executor.counters().get(ShuffleCounter.SERVED_REQUESTS)).isEqualTo(2);
    }
}
