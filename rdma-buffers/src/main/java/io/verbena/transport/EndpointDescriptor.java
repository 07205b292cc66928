package io.verbena.transport;

import io.verbena.memory.Segment;
import io.verbena.memory.SegmentFile;
import io.verbena.transport.TransportException.Reason;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * What a peer learns about an endpoint. Immutable.
 *
 * <pre>
 * magic "VRBN"            4
 * version                 4
 * transport               UTF (2 + n)
 * boot id                 UTF
 * token                   16
 * lease file              file
 * segment count           4
 *   id 4, address 8, length 8, rkey 4, file
 * device count            4
 *   address count 4, each: length 4 (4 or 16), bytes, port 4
 *   device rkey 4, one for each segment in order
 * CRC32C of all above     4
 *
 * file = present 1 [, path UTF, device 8, inode 8]; all numbers big-endian
 * </pre>
 *
 * @param transport kind of the transport that made it
 * @param bootId identity of the running kernel: peers with the same one may be neighbours
 * @param token random identity of the endpoint
 * @param leaseFile where readers lock, null when nothing can be shared
 * @param segments the registered segments that this transport can read
 * @param devices where the endpoint accepts connections, none when it shares memory only
 */
public record EndpointDescriptor(
        String transport,
        String bootId,
        UUID token,
        SegmentFile leaseFile,
        List<SegmentEntry> segments,
        List<DeviceEntry> devices) {
    /** First four bytes: "VRBN". */
    public static final int MAGIC = 0x5652424E;
    /** Next four bytes. A reader of another version cannot know the rest of the layout. */
    public static final int VERSION = 2;

    private static final int HEADER_BYTES = 8;
    private static final int CRC_BYTES = 4;

    /**
     * One row of the segment table.
     *
     * @param id ordinal in the owner
     * @param address of the first byte in the owner
     * @param length in bytes
     * @param rkey of the registration
     * @param file behind it, null when neighbours cannot map it
     */
    public record SegmentEntry(int id, long address, long length, int rkey, SegmentFile file) {
        /**
         * Returns where a range starts in this segment.
         *
         * @return offset in bytes, or -1 if the range is not inside; sums that overflow are not inside
         */
        public long offsetOf(long remoteAddress, long rangeLength) {
            long offset = remoteAddress - address;
            boolean inside = rangeLength >= 0 && rangeLength <= length && offset >= 0 && offset <= length - rangeLength;
            return inside ? offset : -1;
        }
    }

    /**
     * One device of the owner. Immutable.
     *
     * @param addresses where it listens; numbers, never names
     * @param rkeys the device's own key of each segment, in the order of the segment table; 0 = not registered there
     */
    public record DeviceEntry(List<InetSocketAddress> addresses, List<Integer> rkeys) {
        /** Copies both lists. */
        public DeviceEntry {
            addresses = List.copyOf(addresses);
            rkeys = List.copyOf(rkeys);
        }
    }

    /** Copies both lists. */
    public EndpointDescriptor {
        segments = List.copyOf(segments);
        devices = List.copyOf(devices);
        for (DeviceEntry device : devices) {
            if (device.rkeys().size() != segments.size()) {
                throw new IllegalArgumentException(
                        "a device has keys for segments=" + device.rkeys().size() + " of " + segments.size());
            }
        }
    }

    /** Makes the descriptor of an endpoint that accepts no connections. */
    public EndpointDescriptor(
            String transport, String bootId, UUID token, SegmentFile leaseFile, List<SegmentEntry> segments) {
        this(transport, bootId, token, leaseFile, segments, List.of());
    }

    /** Returns the bytes to send. */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(MAGIC);
            out.writeInt(VERSION);
            out.writeUTF(transport);
            out.writeUTF(bootId);
            out.writeLong(token.getMostSignificantBits());
            out.writeLong(token.getLeastSignificantBits());
            writeFile(out, leaseFile);
            out.writeInt(segments.size());
            for (SegmentEntry segment : segments) {
                out.writeInt(segment.id());
                out.writeLong(segment.address());
                out.writeLong(segment.length());
                out.writeInt(segment.rkey());
                writeFile(out, segment.file());
            }
            out.writeInt(devices.size());
            for (DeviceEntry device : devices) {
                writeDevice(out, device);
            }
            out.writeInt(crc(bytes.toByteArray(), bytes.size()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot encode a descriptor of segments=" + segments.size(), e);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @throws TransportException CORRUPT_DESCRIPTOR or VERSION_MISMATCH
     */
    public static EndpointDescriptor decode(byte[] bytes) throws TransportException {
        if (bytes.length < HEADER_BYTES + CRC_BYTES) {
            throw corrupt("too short: lengthBytes=" + bytes.length, null);
        }
        ByteBuffer header = ByteBuffer.wrap(bytes);
        int magic = header.getInt();
        if (magic != MAGIC) {
            throw corrupt("magic=0x" + Integer.toHexString(magic) + ", expected=0x" + Integer.toHexString(MAGIC), null);
        }
        int version = header.getInt();
        if (version != VERSION) {
            throw new TransportException(
                    Reason.VERSION_MISMATCH,
                    "descriptor has version=" + version + ", this side reads version=" + VERSION
                            + "; run the same release on all executors");
        }
        int bodyEnd = bytes.length - CRC_BYTES;
        int crc = crc(bytes, bodyEnd);
        int sent = header.getInt(bodyEnd);
        if (crc != sent) {
            throw corrupt(
                    "crc32c=0x" + Integer.toHexString(crc) + ", sent=0x" + Integer.toHexString(sent) + ", lengthBytes="
                            + bytes.length,
                    null);
        }
        try (DataInputStream in =
                new DataInputStream(new ByteArrayInputStream(bytes, HEADER_BYTES, bodyEnd - HEADER_BYTES))) {
            return decodeBody(in);
        } catch (IOException | IllegalArgumentException e) {
            throw corrupt("body cannot be read", e);
        }
    }

    private static EndpointDescriptor decodeBody(DataInputStream in) throws IOException {
        String transport = in.readUTF();
        String bootId = in.readUTF();
        UUID token = new UUID(in.readLong(), in.readLong());
        SegmentFile leaseFile = readFile(in);
        int count = in.readInt();
        List<SegmentEntry> segments = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            SegmentEntry entry =
                    new SegmentEntry(in.readInt(), in.readLong(), in.readLong(), in.readInt(), readFile(in));
            if (entry.length() <= 0 || entry.length() > Segment.MAX_BYTES) {
                throw new IOException("segment id=" + entry.id() + " has lengthBytes=" + entry.length());
            }
            segments.add(entry);
        }
        List<DeviceEntry> devices = new ArrayList<>();
        int deviceCount = in.readInt();
        for (int i = 0; i < deviceCount; i++) {
            devices.add(readDevice(in, count));
        }
        if (in.available() != 0) {
            throw new IOException("trailing bytes=" + in.available());
        }
        return new EndpointDescriptor(transport, bootId, token, leaseFile, segments, devices);
    }

    private static void writeDevice(DataOutputStream out, DeviceEntry device) throws IOException {
        out.writeInt(device.addresses().size());
        for (InetSocketAddress address : device.addresses()) {
            byte[] number = address.getAddress().getAddress();
            out.writeInt(number.length);
            out.write(number);
            out.writeInt(address.getPort());
        }
        for (int rkey : device.rkeys()) {
            out.writeInt(rkey);
        }
    }

    private static DeviceEntry readDevice(DataInputStream in, int segmentCount) throws IOException {
        List<InetSocketAddress> addresses = new ArrayList<>();
        int addressCount = in.readInt();
        for (int i = 0; i < addressCount; i++) {
            int length = in.readInt();
            if (length != 4 && length != 16) {
                throw new IOException("an address has lengthBytes=" + length);
            }
            byte[] number = new byte[length];
            in.readFully(number);
            addresses.add(new InetSocketAddress(InetAddress.getByAddress(number), in.readInt()));
        }
        List<Integer> rkeys = new ArrayList<>();
        for (int i = 0; i < segmentCount; i++) {
            rkeys.add(in.readInt());
        }
        return new DeviceEntry(addresses, rkeys);
    }

    private static void writeFile(DataOutputStream out, SegmentFile file) throws IOException {
        out.writeBoolean(file != null);
        if (file != null) {
            out.writeUTF(file.path().toString());
            out.writeLong(file.device());
            out.writeLong(file.inode());
        }
    }

    private static SegmentFile readFile(DataInputStream in) throws IOException {
        return in.readBoolean() ? new SegmentFile(Path.of(in.readUTF()), in.readLong(), in.readLong()) : null;
    }

    private static int crc(byte[] bytes, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, length);
        return (int) crc.getValue();
    }

    private static TransportException corrupt(String what, Exception cause) {
        return new TransportException(Reason.CORRUPT_DESCRIPTOR, "descriptor is damaged: " + what, cause);
    }
}
