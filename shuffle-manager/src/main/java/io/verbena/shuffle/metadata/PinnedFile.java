package io.verbena.shuffle.metadata;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The answer to the request that a map output's file be made readable: where it is and what its index would be if it were a run
 * image in memory, or why it cannot be had so. Readers treat it as a run from there on.
 *
 * <pre>
 *   shuffleId u32 | mapId i64 | pinned u8 | address i64 | rkey u32 | length i64 | windows of an index
 *   shuffleId u32 | mapId i64 | 0 u8      | reason, UTF-8                                                (big endian)
 * </pre>
 *
 * The address is that of the image's head, which is not there: it lies {@link RunImage#overhead} before the file's first byte.
 * The windows are in the native byte order, as all run images are, and are those of the range that was asked for.
 *
 * @param location of the run image, null if it is not to be had
 * @param windows of the image's index, null if it is not to be had
 * @param refusal why not, null if it is to be had
 */
public record PinnedFile(RunLocation location, ByteBuffer windows, String refusal) {
    private static final int MAGIC = 0x56504631; // "VPF1"
    private static final int VERSION = 2;

    /** Returns what a file is told to be like.
     *
     * @param head header and index of the image, in native byte order
     */
    public static PinnedFile at(RunLocation location, ByteBuffer head, IndexSpan span) {
        return new PinnedFile(location, head.slice(span.offset(), span.bytes()), null);
    }

    /** Returns a refusal. */
    public static PinnedFile refused(String why) {
        return new PinnedFile(null, null, why);
    }

    /** Renders the answer for the wire. */
    public byte[] encode(int shuffleId, long mapId) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(shuffleId);
            out.writeLong(mapId);
            out.writeBoolean(refusal == null);
            if (refusal == null) {
                out.writeLong(location.address());
                out.writeInt(location.rkey());
                out.writeLong(location.length());
                byte[] copy = new byte[windows.capacity()];
                windows.get(0, copy);
                out.write(copy);
            } else {
                out.write(refusal.getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory cannot fail", e);
        }
        return Checksummed.seal(MAGIC, VERSION, bytes.toByteArray());
    }

    /**
     * Reads an answer from the wire. The windows are not checked: {@link RunIndex#copyOf} does that.
     *
     * @throws CorruptMetadataException if it is not an answer of this version, whole and unchanged, for that map output
     */
    public static PinnedFile decode(byte[] message, int expectedShuffleId, long expectedMapId)
            throws CorruptMetadataException {
        ByteBuffer in = Checksummed.open("answer for a pinned file", MAGIC, VERSION, message);
        try {
            int shuffleId = in.getInt();
            long mapId = in.getLong();
            if (shuffleId != expectedShuffleId || mapId != expectedMapId) {
                throw new CorruptMetadataException("answer for a pinned file is of another map output: shuffleId="
                        + shuffleId + ", mapId=" + mapId + ", expected=" + expectedShuffleId + ", " + expectedMapId);
            }
            if (in.get() == 0) {
                return refused(StandardCharsets.UTF_8.decode(in).toString());
            }
            RunLocation location = new RunLocation(in.getLong(), in.getInt(), in.getLong());
            return new PinnedFile(location, in.slice().order(ByteOrder.nativeOrder()), null);
        } catch (BufferUnderflowException e) {
            throw new CorruptMetadataException("answer for a pinned file is cut: payloadBytes=" + in.limit());
        }
    }
}
