package io.verbena.shuffle.metadata;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** Checks of the head of a run image: its header and its index. For the bytes see {@link RunImage}. */
final class RunHead {
    static final int MAGIC = 0x56524e31; // "VRN1"
    static final int VERSION = 1;

    /** Bytes of the header, behind which the index lies. */
    static final int BYTES = 64;

    private RunHead() {}

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
        BlockLayout layout = BlockLayout.ofCode(kind & 0xffff);
        checkIndex(bytes, partitions, dataLength);
        return layout;
    }

    private static void checkIndex(ByteBuffer bytes, int partitions, long dataLength) throws CorruptMetadataException {
        byte[] header = new byte[BYTES];
        bytes.get(0, header);
        for (int i = 20; i < 24; i++) {
            header[i] = 0;
        }
        CRC32C crc = new CRC32C();
        crc.update(header, 0, BYTES);
        bytes.limit(BYTES + 8 * partitions + 4).position(BYTES);
        crc.update(bytes);
        check("index crc32c", crc.getValue(), bytes.getInt(20) & 0xffffffffL);
        long previous = 0;
        for (int p = 0; p <= partitions; p++) {
            long start = bytes.getInt(BYTES + 4 * p) & 0xffffffffL;
            if (start < previous || start > dataLength) {
                throw new CorruptMetadataException("run index is not ascending: partition=" + p + ", start=" + start
                        + ", previous=" + previous + ", dataBytes=" + dataLength);
            }
            previous = start;
        }
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
