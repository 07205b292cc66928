package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32C;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** The checksum of a block in registered memory, as every block is checked once by its writer and once by its reader. */
@Per("block")
@State(Scope.Thread)
public class ChecksumBenchmark extends Defaults {
    /** CRC-32C of "123456789", from RFC 3720's polynomial. */
    private static final long CHECK_VALUE = 0xE3069283L;

    /** Length of a block. */
    @Param({"127", "512", "4096", "32779", "1048576"})
    public int bytes;

    private final CRC32C crc = new CRC32C();
    private ByteBuffer block;
    private ByteBuffer copy;
    private long from;
    private long to;

    /** Fills a block. */
    @Setup
    public void fill() {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        block = ByteBuffer.allocateDirect(bytes).put(content).clear();
        copy = ByteBuffer.allocateDirect(bytes);
        from = OffHeap.addressOf(block);
        to = OffHeap.addressOf(copy);
        crc.reset();
        crc.update(new byte[] {'1', '2', '3', '4', '5', '6', '7', '8', '9'});
        if (crc.getValue() != CHECK_VALUE) {
            throw new IllegalStateException("CRC32C is wrong: got=0x" + Long.toHexString(crc.getValue()));
        }
    }

    /** What writers and readers do. */
    @Benchmark
    public long crc32c() {
        crc.reset();
        crc.update(block.clear());
        return crc.getValue();
    }

    /** A copy of the same bytes. */
    @Benchmark
    public long memcpyBaseline() {
        OffHeap.copy(null, from, null, to, bytes);
        return to;
    }
}
