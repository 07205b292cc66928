package io.verbena.shuffle.resolver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.stream.ChunkedStream;
import io.verbena.shuffle.metadata.BlockFrame;
import io.verbena.shuffle.metadata.BlockFrame.ChecksumKind;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.transport.ReadLease;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.util.AbstractFileRegion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class FrameBufferTest {
    @TempDir
    Path folder;

    private final AtomicInteger leaseEnds = new AtomicInteger();

    private ReadLease lease() {
        return new ReadLease() {
            @Override
            public int key() {
                return 0;
            }

            @Override
            public void close() {
                leaseEnds.incrementAndGet();
            }
        };
    }

    private static byte[] random(int seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static ByteBuffer direct(byte[] bytes) {
        // A slice in the middle of something larger, as runs are.
        ByteBuffer larger = ByteBuffer.allocateDirect(bytes.length + 20);
        larger.put(10, bytes);
        return larger.slice(10, bytes.length);
    }

    private FramePart file(byte[] bytes) throws IOException {
        Path path = Files.createTempFile(folder, "data", null);
        byte[] padded = new byte[bytes.length + 13];
        System.arraycopy(bytes, 0, padded, 7, bytes.length);
        Files.write(path, padded);
        return new FramePart.FileRange(path, 7, bytes.length);
    }

    /** Memory, files and an empty part, 2.5 MB in all, so that a memory part is transferred in more than one piece. */
    private FrameBuffer mixed() throws IOException {
        FrameBuffer.Builder frame = new FrameBuffer.Builder(BlockLayout.WRAPPED, ChecksumKind.CRC32C);
        frame.add(0, 1, new FramePart.Memory(direct(random(1, 1_500_000))));
        frame.add(1, 2, file(random(2, 70_001)));
        frame.add(1, 3, new FramePart.Memory(direct(new byte[0])));
        frame.add(4, 4, new FramePart.Memory(ByteBuffer.wrap(random(3, 1))));
        frame.add(5, 5, file(random(4, 900_000)));
        return frame.build(lease());
    }

    private byte[] expected() throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        ByteBuffer head = new BlockFrame(
                        BlockLayout.WRAPPED,
                        ChecksumKind.CRC32C,
                        List.of(
                                new BlockFrame.Entry(0, 1_500_000, 1),
                                new BlockFrame.Entry(1, 70_001, 2),
                                new BlockFrame.Entry(1, 0, 3),
                                new BlockFrame.Entry(4, 1, 4),
                                new BlockFrame.Entry(5, 900_000, 5)))
                .encode();
        byte[] headBytes = new byte[head.remaining()];
        head.get(headBytes);
        all.write(headBytes);
        all.write(random(1, 1_500_000));
        all.write(random(2, 70_001));
        all.write(random(3, 1));
        all.write(random(4, 900_000));
        return all.toByteArray();
    }

    /** A channel that takes few bytes at a time, and sometimes none. */
    private static final class Reluctant implements WritableByteChannel {
        private final ByteArrayOutputStream taken = new ByteArrayOutputStream();
        private final Random random = new Random(9);
        private int refusals;

        @Override
        public int write(ByteBuffer source) {
            int n = Math.min(source.remaining(), random.nextInt(4) == 0 ? 0 : random.nextInt(60_000));
            if (n == 0) {
                refusals++;
            }
            byte[] bytes = new byte[n];
            source.get(bytes);
            taken.writeBytes(bytes);
            return n;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {}
    }

    @Test
    void shouldGiveTheSameBytesEveryWay() throws Exception {
        FrameBuffer buffer = mixed();
        byte[] expected = expected();
        assertThat(buffer.size()).isEqualTo(expected.length);
        try (InputStream in = buffer.createInputStream()) {
            assertThat(in.readAllBytes()).isEqualTo(expected);
            assertThat(in.read()).isEqualTo(-1);
            assertThat(in.skip(1)).isZero();
        }
        assertThat(buffer.nioByteBuffer()).isEqualTo(ByteBuffer.wrap(expected));
        assertThat(chunks((ChunkedStream) buffer.convertToNettyForSsl())).isEqualTo(expected);

        AbstractFileRegion region = (AbstractFileRegion) buffer.convertToNetty();
        assertThat(region.count()).isEqualTo(expected.length);
        Reluctant channel = new Reluctant();
        while (region.transferred() < region.count()) {
            long before = region.transferred();
            long n = region.transferTo(channel, before);
            assertThat(n).isNotNegative();
            assertThat(region.transferred()).isEqualTo(before + n);
        }
        assertThat(channel.taken.toByteArray()).isEqualTo(expected);
        assertThat(channel.refusals).isPositive();
        assertThat(region.transferTo(channel, region.count())).isZero();
    }

    @Test
    void shouldServeTwoReadersAtOnce() throws IOException {
        FrameBuffer buffer = mixed();
        byte[] expected = expected();
        try (InputStream a = buffer.createInputStream();
                InputStream b = buffer.createInputStream()) {
            byte[] half = a.readNBytes(expected.length / 2);
            assertThat(b.readAllBytes()).isEqualTo(expected);
            assertThat(half).isEqualTo(Arrays.copyOf(expected, half.length));
            assertThat(a.readAllBytes()).isEqualTo(Arrays.copyOfRange(expected, half.length, expected.length));
        }
    }

    @Test
    void shouldSkipAnywhere() throws IOException {
        FrameBuffer buffer = mixed();
        byte[] expected = expected();
        int headBytes = 20 + 5 * 20;
        int[] targets = {
            0,
            1,
            headBytes - 1,
            headBytes,
            headBytes + 1,
            headBytes + 1_500_000,
            headBytes + 1_570_001,
            expected.length - 1
        };
        for (int target : targets) {
            try (InputStream in = buffer.createInputStream()) {
                in.skipNBytes(target);
                assertThat(in.read()).as("byte at %d", target).isEqualTo(expected[target] & 0xff);
            }
        }
        try (InputStream in = buffer.createInputStream()) {
            assertThat(in.skip(expected.length + 100L)).isEqualTo(expected.length);
            assertThat(in.read()).isEqualTo(-1);
        }
        Random random = new Random(5);
        try (InputStream in = buffer.createInputStream()) {
            int at = 0;
            while (at < expected.length) {
                if (random.nextBoolean()) {
                    at += (int) in.skip(random.nextInt(200_000));
                } else {
                    byte[] piece = new byte[random.nextInt(100_000)];
                    int n = in.read(piece, 0, piece.length);
                    assertThat(Arrays.copyOf(piece, n)).isEqualTo(Arrays.copyOfRange(expected, at, at + n));
                    at += n;
                }
            }
            assertThat(at).isEqualTo(expected.length);
        }
    }

    @Test
    void shouldServeMoreThanTwoGibibytes() throws IOException {
        int piece = 64 << 20;
        int pieces = 40;
        ByteBuffer memory = ByteBuffer.allocateDirect(piece);
        memory.put(0, (byte) 1).put(piece - 1, (byte) 2);
        FrameBuffer.Builder frame = new FrameBuffer.Builder(BlockLayout.ROWS, ChecksumKind.CRC32C);
        for (int i = 0; i < pieces; i++) {
            frame.add(i, 0, new FramePart.Memory(memory));
        }
        FrameBuffer buffer = frame.build(lease());
        long head = 20 + 20L * pieces;
        long size = head + (long) pieces * piece;
        assertThat(size).isGreaterThan(Integer.MAX_VALUE);
        assertThat(buffer.size()).isEqualTo(size);
        assertThatThrownBy(buffer::nioByteBuffer).isInstanceOf(ArithmeticException.class);

        long[] marks = new long[3];
        WritableByteChannel counting = new WritableByteChannel() {
            @Override
            public int write(ByteBuffer source) {
                int n = source.remaining();
                marks[0] += n;
                if (marks[0] > head) {
                    marks[1] += source.get(source.position()) == 1 ? 1 : 0;
                    marks[2] += source.get(source.limit() - 1) == 2 ? 1 : 0;
                }
                source.position(source.limit());
                return n;
            }

            @Override
            public boolean isOpen() {
                return true;
            }

            @Override
            public void close() {}
        };
        AbstractFileRegion region = (AbstractFileRegion) buffer.convertToNetty();
        while (region.transferred() < region.count()) {
            assertThat(region.transferTo(counting, region.transferred())).isPositive();
        }
        assertThat(marks).containsExactly(size, pieces, pieces);

        try (InputStream in = buffer.createInputStream()) {
            in.skipNBytes(size - piece);
            assertThat(in.read()).isEqualTo(1);
            in.skipNBytes(piece - 2);
            assertThat(in.read()).isEqualTo(2);
            assertThat(in.read()).isEqualTo(-1);
        }
    }

    @Test
    void shouldEndTheLeaseWithTheLastReference() throws IOException {
        FrameBuffer buffer = mixed();
        assertThat(buffer.retain()).isSameAs(buffer);
        buffer.retain();
        buffer.release();
        buffer.release();
        assertThat(leaseEnds).hasValue(0);
        buffer.release();
        assertThat(leaseEnds).hasValue(1);
        assertThatThrownBy(buffer::release)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("twice");
        assertThatThrownBy(buffer::retain).isInstanceOf(IllegalStateException.class);
        assertThat(leaseEnds).hasValue(1);
    }

    @Test
    void shouldEndTheLeaseOnceWhenManyThreadsRelease() throws Exception {
        for (int round = 0; round < 200; round++) {
            FrameBuffer buffer = mixed(1);
            buffer.retain();
            buffer.retain();
            Thread[] threads = new Thread[3];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(buffer::release, "verbena-test-" + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join(10_000);
            }
            assertThat(leaseEnds.getAndSet(0)).isEqualTo(1);
        }
    }

    private FrameBuffer mixed(int bytes) {
        FrameBuffer.Builder frame = new FrameBuffer.Builder(BlockLayout.ROWS, ChecksumKind.CRC32C);
        frame.add(0, 0, new FramePart.Memory(ByteBuffer.allocate(bytes)));
        return frame.build(lease());
    }

    /** Netty asks again for ever when a region writes nothing. */
    @Test
    void shouldFailWhenAFileIsShorterThanItWas() throws IOException {
        Path path = folder.resolve("short");
        Files.write(path, new byte[100]);
        FrameBuffer.Builder frame = new FrameBuffer.Builder(BlockLayout.SPARK, ChecksumKind.NONE);
        frame.add(0, 0, new FramePart.FileRange(path, 50, 100));
        FrameBuffer buffer = frame.build(null);
        try (InputStream in = buffer.createInputStream()) {
            assertThatThrownBy(in::readAllBytes).isInstanceOf(IOException.class).hasMessageContaining("ends early");
        }
        AbstractFileRegion region = (AbstractFileRegion) buffer.convertToNetty();
        Reluctant channel = new Reluctant();
        assertThatThrownBy(() -> {
                    while (region.transferred() < region.count()) {
                        assertThat(region.transferTo(channel, region.transferred()))
                                .isNotNegative();
                    }
                })
                .isInstanceOf(IOException.class)
                .hasMessageContaining("ends early")
                .hasMessageContaining("short");
        assertThat(channel.taken.size()).isEqualTo(40 + 50);
        buffer.release();
    }

    /** What an encrypted channel would send. */
    private static byte[] chunks(ChunkedStream stream) throws Exception {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        while (!stream.isEndOfInput()) {
            ByteBuf chunk = stream.readChunk(ByteBufAllocator.DEFAULT);
            chunk.readBytes(all, chunk.readableBytes());
            chunk.release();
        }
        stream.close();
        return all.toByteArray();
    }
}
