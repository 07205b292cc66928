package io.verbena.transport.ways;

import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * The envelope around the descriptors of an endpoint's transports.
 *
 * <pre>
 * magic "VRBW"            4
 * version                 4
 * parts                   4
 *   name UTF (2 + n), length 4, descriptor
 * CRC32C of all above     4                                       (big endian)
 * </pre>
 */
final class WaysDescriptor {
    private static final int MAGIC = 0x56524257;
    private static final int VERSION = 1;
    private static final int CRC_BYTES = 4;
    private static final int HEADER = 8;
    private static final int SHORTEST = HEADER + 4 + CRC_BYTES;

    private WaysDescriptor() {}

    /** @param parts descriptors by the name of their transport, in order */
    static byte[] encode(Map<String, byte[]> parts) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(MAGIC);
            out.writeInt(VERSION);
            out.writeInt(parts.size());
            for (Map.Entry<String, byte[]> part : parts.entrySet()) {
                out.writeUTF(part.getKey());
                out.writeInt(part.getValue().length);
                out.write(part.getValue());
            }
            out.writeInt(crc(bytes.toByteArray(), bytes.size()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot encode a descriptor of parts=" + parts.keySet(), e);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @return descriptors by the name of their transport
     * @throws TransportException CORRUPT_DESCRIPTOR or VERSION_MISMATCH
     */
    static Map<String, byte[]> decode(byte[] bytes) throws TransportException {
        if (bytes.length < SHORTEST) {
            throw corrupt("too short: lengthBytes=" + bytes.length + ", atLeast=" + SHORTEST);
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int magic = in.getInt();
        if (magic != MAGIC) {
            throw corrupt("magic=0x" + Integer.toHexString(magic) + ", expected=0x" + Integer.toHexString(MAGIC));
        }
        int version = in.getInt();
        if (version != VERSION) {
            throw new TransportException(
                    Reason.VERSION_MISMATCH,
                    "endpoint descriptor has version=" + version + ", this side reads version=" + VERSION
                            + "; run the same release on all executors");
        }
        int end = bytes.length - CRC_BYTES;
        int crc = crc(bytes, end);
        int sent = in.getInt(end);
        if (crc != sent) {
            throw corrupt("crc32c=0x" + Integer.toHexString(crc) + ", sent=0x" + Integer.toHexString(sent)
                    + ", lengthBytes=" + bytes.length);
        }
        try (DataInputStream body = new DataInputStream(new ByteArrayInputStream(bytes, HEADER, end - HEADER))) {
            return decodeParts(body);
        } catch (IOException e) {
            throw corrupt("a part cannot be read: " + e);
        }
    }

    private static Map<String, byte[]> decodeParts(DataInputStream in) throws IOException {
        Map<String, byte[]> parts = new LinkedHashMap<>();
        int count = in.readInt();
        for (int i = 0; i < count; i++) {
            String name = in.readUTF();
            int length = in.readInt();
            if (length < 0 || length > in.available()) {
                throw new EOFException("part " + name + " has lengthBytes=" + length);
            }
            parts.put(name, in.readNBytes(length));
        }
        if (in.available() != 0) {
            throw new IOException("trailing bytes=" + in.available());
        }
        return parts;
    }

    private static int crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }

    private static TransportException corrupt(String what) {
        return new TransportException(Reason.CORRUPT_DESCRIPTOR, "endpoint descriptor is damaged: " + what);
    }
}
