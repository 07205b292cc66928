package io.verbena.shuffle.metadata;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * Head of the self-describing answer in which blocks cross Spark's block transfer: the reader learns layout and checksums from
 * the same message as the bytes, so an output that is evicted between two messages cannot be misread.
 *
 * <pre>
 *   0 magic u32 | 4 version u16, layout u16 | 8 checksum kind u32 | 12 slices u32 | 16 header CRC32C u32 (computed with 0 here)
 *   20 slices x { reduce id u32 | length i64 | checksum i64 }, then the slices' bytes                    (big endian)
 * </pre>
 *
 * @param layout how the slices are encoded
 * @param checksumKind the algorithm of {@code checksums}
 * @param entries the slices, in order: partitions ascend, and one whose block has several slices stands several times
 */
public record BlockFrame(BlockLayout layout, ChecksumKind checksumKind, List<Entry> entries) {
    /**
     * One slice.
     *
     * @param reduceId its partition
     * @param length its bytes
     * @param checksum its checksum, of the frame's kind
     */
    public record Entry(int reduceId, long length, long checksum) {}

    private static final int MAGIC = 0x56465231; // "VFR1"
    private static final int VERSION = 1;
    private static final int FIXED = 20;
    private static final int ENTRY = 20;

    /** Bounds what a corrupt count can make us allocate: 16 M slices are far beyond Spark's limit on partitions. */
    private static final int MAX_SLICES = 1 << 24;

    /** The checksum algorithms Spark knows; the code is on the wire. */
    public enum ChecksumKind {
        /** The stock file has no checksums: switched off (spark.shuffle.checksum.enabled), or it was migrated without them. */
        NONE(0),
        ADLER32(1),
        CRC32(2),
        CRC32C(3);

        private final int code;

        ChecksumKind(int code) {
            this.code = code;
        }

        private static ChecksumKind ofCode(int code) throws CorruptMetadataException {
            for (ChecksumKind kind : values()) {
                if (kind.code == code) {
                    return kind;
                }
            }
            throw new CorruptMetadataException("block frame has an unknown checksum kind: code=" + code);
        }

        /** Returns a fresh calculator, {@code null} for {@link #NONE}. */
        public Checksum newChecksum() {
            return switch (this) {
                case NONE -> null;
                case ADLER32 -> new Adler32();
                case CRC32 -> new CRC32();
                case CRC32C -> new CRC32C();
            };
        }
    }

    /** Renders the head; the slices' bytes follow it. */
    public ByteBuffer encode() {
        ByteBuffer out = ByteBuffer.allocate(FIXED + ENTRY * entries.size());
        out.putInt(MAGIC)
                .putInt(VERSION << 16 | layout.code())
                .putInt(checksumKind.code)
                .putInt(entries.size());
        out.putInt(0);
        for (Entry entry : entries) {
            out.putInt(entry.reduceId()).putLong(entry.length()).putLong(entry.checksum());
        }
        out.putInt(16, crcOf(out.array()));
        return out.flip();
    }

    /** Bytes of the encoded head. */
    public long headLength() {
        return FIXED + (long) ENTRY * entries.size();
    }

    /**
     * Reads a head; the stream is left at the first slice's first byte.
     *
     * @param startReduceId the first partition that was asked for
     * @param endReduceId one past the last
     * @throws CorruptMetadataException if it is not a frame of this version, or fails its checksum, or speaks of other partitions
     */
    public static BlockFrame decode(InputStream in, int startReduceId, int endReduceId) throws IOException {
        byte[] fixed = readFully(in, FIXED);
        ByteBuffer head = ByteBuffer.wrap(fixed);
        check("magic", head.getInt(0), MAGIC);
        int kind = head.getInt(4);
        check("version", kind >>> 16, VERSION);
        int count = head.getInt(12);
        if (count < 0 || count > MAX_SLICES) {
            throw new CorruptMetadataException(
                    "block frame has an impossible count of slices: count=" + count + ", atMost=" + MAX_SLICES);
        }
        byte[] table = readFully(in, ENTRY * count);
        int expected = head.getInt(16);
        head.putInt(16, 0);
        CRC32C crc = new CRC32C();
        crc.update(fixed);
        crc.update(table);
        check("header crc32c", (int) crc.getValue(), expected);
        return new BlockFrame(
                BlockLayout.ofCode(kind & 0xffff),
                ChecksumKind.ofCode(head.getInt(8)),
                decodeEntries(ByteBuffer.wrap(table), count, startReduceId, endReduceId));
    }

    private static List<Entry> decodeEntries(ByteBuffer table, int count, int startReduceId, int endReduceId)
            throws CorruptMetadataException {
        List<Entry> entries = new ArrayList<>(count);
        int previous = startReduceId;
        for (int i = 0; i < count; i++) {
            Entry entry = new Entry(table.getInt(), table.getLong(), table.getLong());
            if (entry.reduceId() < previous || entry.reduceId() >= endReduceId || entry.length() < 0) {
                throw new CorruptMetadataException("block frame has a slice that was not asked for: " + entry
                        + ", asked=[" + startReduceId + ", " + endReduceId + ")");
            }
            previous = entry.reduceId();
            entries.add(entry);
        }
        return entries;
    }

    private static byte[] readFully(InputStream in, int length) throws IOException {
        // Grows as bytes come: a corrupt count must not make us allocate for slices that never do.
        byte[] bytes = in.readNBytes(length);
        if (bytes.length != length) {
            throw new CorruptMetadataException(
                    "block frame ends within its head: headBytes=" + length + ", gotBytes=" + bytes.length);
        }
        return bytes;
    }

    private static void check(String what, int got, int expected) throws CorruptMetadataException {
        if (got != expected) {
            throw new CorruptMetadataException("block frame has a wrong " + what + ": got=0x" + Integer.toHexString(got)
                    + ", expected=0x" + Integer.toHexString(expected));
        }
    }

    private static int crcOf(byte[] head) {
        CRC32C crc = new CRC32C();
        crc.update(head);
        return (int) crc.getValue();
    }
}
