package io.verbena.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every backing promises. */
@Timeout(60)
public abstract class SegmentBackingContractTest {
    private static final AtomicInteger IDS = new AtomicInteger();

    private SegmentBacking backing;

    /** Returns a backing with room for four segments of {@link #segmentBytes}. */
    protected abstract SegmentBacking open() throws Exception;

    /** Removes what open needed. */
    protected abstract void cleanUp() throws Exception;

    protected long segmentBytes() {
        return 1 << 20;
    }

    @BeforeEach
    void openBacking() throws Exception {
        backing = open();
    }

    @AfterEach
    void closeBacking() throws Exception {
        Path directory = backing.ownerDirectory();
        backing.close();
        if (directory != null) {
            assertThat(directory).doesNotExist();
        }
        cleanUp();
    }

    private Segment allocate() throws BackingException {
        return backing.allocate(IDS.getAndIncrement(), segmentBytes());
    }

    @Test
    void shouldGiveAlignedZeroedMemoryOfTheRightSize() throws Exception {
        Segment segment = allocate();
        assertThat(segment.length()).isEqualTo(segmentBytes());
        assertThat(segment.address() % 4096).isZero();
        assertThat(segment.buffer().capacity()).isEqualTo((int) segmentBytes());
        assertThat(segment.buffer().order()).isEqualTo(ByteOrder.nativeOrder());
        assertThat(OffHeap.addressOf(segment.buffer())).isEqualTo(segment.address());
        for (long offset = 0; offset < segmentBytes(); offset += 8) {
            assertThat(OffHeap.getLong(segment.address() + offset)).isZero();
        }
    }

    @Test
    void shouldKeepWhatIsWrittenInEverySegment() throws Exception {
        Segment first = allocate();
        Segment second = allocate();
        for (long offset = 0; offset < segmentBytes(); offset += 8) {
            OffHeap.putLong(first.address() + offset, offset);
            OffHeap.putLong(second.address() + offset, -offset);
        }
        for (int offset = 0; offset < segmentBytes(); offset += 8) {
            assertThat(first.buffer().getLong(offset)).isEqualTo(offset);
            assertThat(second.buffer().getLong(offset)).isEqualTo(-offset);
        }
    }

    @Test
    void shouldShowNeighboursTheSameMemoryUntilTheyUnmap() throws Exception {
        Segment segment = allocate();
        if (segment.file() == null) {
            assertThat(backing.ownerDirectory()).isNull();
            return;
        }
        SegmentFile file = segment.file();
        assertThat(file.path()).startsWith(backing.ownerDirectory());
        assertThat(Files.getAttribute(file.path(), "unix:dev")).isEqualTo(file.device());
        assertThat(Files.getAttribute(file.path(), "unix:ino")).isEqualTo(file.inode());
        MappedByteBuffer neighbour = map(file.path());
        OffHeap.putLong(segment.address() + segmentBytes() - 8, 0x0102030405060708L);
        backing.free(segment);
        assertThat(file.path()).doesNotExist();
        assertThat(neighbour.order(ByteOrder.nativeOrder()).getLong((int) segmentBytes() - 8))
                .isEqualTo(0x0102030405060708L);
        OffHeap.unmap(neighbour);
    }

    private MappedByteBuffer map(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            return channel.map(FileChannel.MapMode.READ_ONLY, 0, segmentBytes());
        }
    }

    @Test
    void shouldGiveMemoryAgainAfterFree() throws Exception {
        for (int i = 0; i < 20; i++) {
            Segment segment = allocate();
            OffHeap.putLong(segment.address(), i);
            backing.free(segment);
        }
        assertThat(allocate().length()).isEqualTo(segmentBytes());
    }

    @Test
    void shouldRefuseToFreeTwice() throws Exception {
        Segment segment = allocate();
        backing.free(segment);
        assertThatThrownBy(() -> backing.free(segment))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("id=" + segment.id());
    }

    @Test
    void shouldRefuseSizesThatAreNotPages() {
        assertThatThrownBy(() -> backing.allocate(IDS.getAndIncrement(), 100))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("segmentBytes=100");
        assertThatThrownBy(() -> backing.allocate(IDS.getAndIncrement(), Segment.MAX_BYTES * 2))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
