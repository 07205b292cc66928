package io.verbena.shuffle.metadata;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * The envelope of every control message.
 *
 * <pre>
 *   0 magic u32 | 4 version u32 | 8 payload length u32 | 12 CRC32C of the payload u32 | 16 payload      (big endian)
 * </pre>
 */
final class Checksummed {
    private static final int HEADER = 16;

    private Checksummed() {}

    static byte[] seal(int magic, int version, byte[] payload) {
        ByteBuffer out = ByteBuffer.allocate(HEADER + payload.length);
        out.putInt(magic)
                .putInt(version)
                .putInt(payload.length)
                .putInt(crc(payload))
                .put(payload);
        return out.array();
    }

    static ByteBuffer open(String what, int magic, int version, byte[] message) throws CorruptMetadataException {
        if (message.length < HEADER) {
            throw new CorruptMetadataException(
                    what + " is too short: lengthBytes=" + message.length + ", atLeast=" + HEADER);
        }
        ByteBuffer in = ByteBuffer.wrap(message);
        int gotMagic = in.getInt();
        if (gotMagic != magic) {
            throw new CorruptMetadataException(what + " has a wrong magic number: got=0x"
                    + Integer.toHexString(gotMagic) + ", expected=0x" + Integer.toHexString(magic));
        }
        int gotVersion = in.getInt();
        if (gotVersion != version) {
            throw new CorruptMetadataException(what + " has another protocol version: theirs=" + gotVersion + ", ours="
                    + version + "; run the same Verbena jar on all executors");
        }
        int length = in.getInt();
        if (length != message.length - HEADER) {
            throw new CorruptMetadataException(what + " is cut or padded: payloadBytes=" + (message.length - HEADER)
                    + ", announcedBytes=" + length);
        }
        int expected = in.getInt();
        CRC32C crc = new CRC32C();
        crc.update(message, HEADER, length);
        if ((int) crc.getValue() != expected) {
            throw new CorruptMetadataException(what + " fails its checksum: crc32c=0x"
                    + Integer.toHexString((int) crc.getValue()) + ", expected=0x" + Integer.toHexString(expected));
        }
        return in.slice();
    }

    private static int crc(byte[] payload) {
        CRC32C crc = new CRC32C();
        crc.update(payload);
        return (int) crc.getValue();
    }
}
