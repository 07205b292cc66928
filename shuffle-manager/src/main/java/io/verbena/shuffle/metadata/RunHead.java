package io.verbena.shuffle.metadata;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** The header of a run image, and checks of what it heads. For the bytes see {@link RunImage}. */
final class RunHead {
    private static final int MAGIC = 0x56524e31; // "VRN1"
    private static final int VERSION = 2;

    /** Bytes of the header, behind which the index lies. */
    static final int BYTES = 64;

    private static final int CRC = 20;

    private RunHead() {}

    /** Writes header and index. */
    static void write(ByteBuffer image, long mapId, BlockLayout layout, long[] starts, int[] sums) {
        int partitions = sums.length;
        long dataLength = starts[partitions];
        long address = OffHeap.addressOf(image);
        OffHeap.zero(address, BYTES);
        OffHeap.putInt(address, MAGIC);
        OffHeap.putInt(address + 4, VERSION << 16 | layout.code());
        OffHeap.putLong(address + 8, mapId);
        OffHeap.putInt(address + 16, partitions);
        OffHeap.putInt(address + 24, Math.toIntExact(RunImage.overhead(partitions)));
        OffHeap.putLong(address + 32, dataLength);
        OffHeap.putInt(address + CRC, crcOf(new CRC32C(), image.duplicate(), 0, BYTES));
        new IndexWindows(mapId, partitions, dataLength).write(image, BYTES, layout, starts, sums);
    }

    /**
     * Checks header and index.
     *
     * @param bytes the image from its start, at least as far as the index goes, in native order; position and limit are scratch
     * @param imageLength bytes of the whole image
     * @throws CorruptMetadataException if it is not the head of that image, whole and unchanged
     */
    static BlockLayout check(ByteBuffer bytes, long mapId, int partitions, long imageLength)
            throws CorruptMetadataException {
        long needed = RunImage.overhead(partitions);
        long there = Math.min(bytes.capacity(), imageLength);
        if (there < needed) {
            throw new CorruptMetadataException(
                    "run image is too short: capacityBytes=" + there + ", indexBytes=" + needed);
        }
        check("magic", bytes.getInt(0), MAGIC);
        int kind = bytes.getInt(4);
        check("version", kind >>> 16, VERSION);
        check("map id", bytes.getLong(8), mapId);
        check("partitions", bytes.getInt(16), partitions);
        check("data offset", bytes.getInt(24), needed);
        long dataLength = bytes.getLong(32);
        check("data length", dataLength, imageLength - needed);
        byte[] header = new byte[BYTES];
        bytes.get(0, header);
        for (int i = CRC; i < CRC + 4; i++) {
            header[i] = 0;
        }
        CRC32C crc = new CRC32C();
        crc.update(header);
        check("header crc32c", crc.getValue(), bytes.getInt(CRC) & 0xffffffffL);
        BlockLayout layout =
                new IndexWindows(mapId, partitions, dataLength).check(bytes, BYTES, IndexSpan.whole(partitions));
        check("layout", layout.code(), kind & 0xffff);
        return layout;
    }

    private static void check(String what, long got, long expected) throws CorruptMetadataException {
        if (got != expected) {
            throw new CorruptMetadataException(
                    "run image has a wrong " + what + ": got=" + got + ", expected=" + expected);
        }
    }

    static int crcOf(CRC32C crc, ByteBuffer view, long offset, long length) {
        crc.reset();
        view.limit((int) (offset + length)).position((int) offset);
        crc.update(view);
        return (int) crc.getValue();
    }

    static void checkSlice(int partition, long length, int actual, int expected) throws CorruptMetadataException {
        if (actual != expected) {
            throw new CorruptMetadataException(
                    "block fails its checksum: partition=" + partition + ", lengthBytes=" + length + ", crc32c=0x"
                            + Integer.toHexString(actual) + ", expected=0x" + Integer.toHexString(expected));
        }
    }
}
