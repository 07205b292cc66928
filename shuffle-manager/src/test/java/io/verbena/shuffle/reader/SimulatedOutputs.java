package io.verbena.shuffle.reader;

import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32C;

/**
 * Contents of map outputs of one run each. There are a few shapes, which map outputs take in turn; only the head of a run image
 * depends on the map id, and is made when it is read, so that 10,000 map outputs of 10,000 blocks need no memory.
 */
final class SimulatedOutputs {
    private static final int SHAPES = 8;

    private final int partitions;
    private final long[][] starts = new long[SHAPES][];
    private final int[][] sums = new int[SHAPES][];
    private final ByteBuffer[] data = new ByteBuffer[SHAPES];

    SimulatedOutputs(int partitions) {
        this.partitions = partitions;
        Random random = new Random(7);
        for (int shape = 0; shape < SHAPES; shape++) {
            starts[shape] = new long[partitions + 1];
            sums[shape] = new int[partitions];
            for (int p = 0; p < partitions; p++) {
                starts[shape][p + 1] = starts[shape][p] + length(shape, p);
            }
            byte[] bytes = new byte[(int) starts[shape][partitions]];
            random.nextBytes(bytes);
            data[shape] = ByteBuffer.allocateDirect(bytes.length).put(bytes);
            for (int p = 0; p < partitions; p++) {
                if (length(shape, p) > 0) {
                    CRC32C crc = new CRC32C();
                    crc.update(bytes, (int) starts[shape][p], length(shape, p));
                    sums[shape][p] = (int) crc.getValue();
                }
            }
        }
    }

    /** Eight to 64 bytes, one block in 64 is empty. */
    private static int length(int shape, int partition) {
        return (partition + shape * 8) % 64 == 63 ? 0 : 8 + (partition * 31 + shape) % 8 * 8;
    }

    private static int shape(int mapIndex) {
        return mapIndex % SHAPES;
    }

    /** Length of a block in bytes. */
    int blockLength(int mapIndex, int partition) {
        return length(shape(mapIndex), partition);
    }

    long[] blockLengths(int mapIndex) {
        long[] lengths = new long[partitions];
        for (int p = 0; p < partitions; p++) {
            lengths[p] = blockLength(mapIndex, p);
        }
        return lengths;
    }

    byte[][] blocks(int mapIndex) {
        byte[][] blocks = new byte[partitions][];
        for (int p = 0; p < partitions; p++) {
            blocks[p] = new byte[blockLength(mapIndex, p)];
            data[shape(mapIndex)].get((int) starts[shape(mapIndex)][p], blocks[p]);
        }
        return blocks;
    }

    /** Bytes of the image of a map output's only run. */
    long imageLength(int mapIndex) {
        return RunImage.overhead(partitions) + starts[shape(mapIndex)][partitions];
    }

    /** Copies a range of the image. */
    void copy(long mapId, int mapIndex, long offset, long target, long length) {
        int shape = shape(mapIndex);
        long headBytes = RunImage.overhead(partitions);
        if (offset < headBytes) {
            ByteBuffer head = RunImage.head(mapId, BlockLayout.RECORDS, starts[shape], sums[shape]);
            long fromHead = Math.min(length, headBytes - offset);
            OffHeap.copy(null, OffHeap.addressOf(head) + offset, null, target, fromHead);
            if (fromHead < length) {
                copy(mapId, mapIndex, headBytes, target + fromHead, length - fromHead);
            }
        } else {
            OffHeap.copy(null, OffHeap.addressOf(data[shape]) + offset - headBytes, null, target, length);
        }
    }
}
