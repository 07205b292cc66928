package io.verbena.shuffle.metadata;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The map outputs of one shuffle that one executor holds, as it tells them to a reader.
 *
 * <p>An entry is immutable: a map id is a task attempt id and is never used again with other content. A directory can therefore
 * be missing entries, but never be wrong about one while the reader holds its lease on the shuffle.
 *
 * <pre>
 *   shuffleId u32 | entries u32 | { mapId i64 | runs u32 (-1: served, -2: served, may be pinned) | { address i64 | rkey u32 | length i64 } } ...
 * </pre>
 *
 * @param shuffleId the shuffle
 * @param outputs what is held, by map id; see {@link Entry}
 */
public record MapOutputDirectory(int shuffleId, Map<Long, Entry> outputs) {
    /** Version of the wire format; a peer with another one is refused. */
    public static final int VERSION = 2;

    private static final int MAGIC = 0x56445231; // "VDR1"
    private static final int SERVED = -1;
    private static final int PINNABLE = -2;
    private static final int MIN_ENTRY_BYTES = 12;
    private static final int RUN_BYTES = 20;

    /**
     * One map output: its runs in memory, or {@code served} and no runs.
     *
     * @param pinnable served, but its owner may be asked to make the file readable, see {@link PinnedFile}
     */
    public record Entry(boolean served, boolean pinnable, List<RunLocation> runs) {
        /** Lies in a stock shuffle file: comes over Spark's block transfer. */
        public static final Entry SERVED = new Entry(true, false, List.of());

        /** Lies in a stock shuffle file that may be made readable. */
        public static final Entry MAY_BE_PINNED = new Entry(true, true, List.of());

        /** Lies in memory. */
        public static Entry inMemory(List<RunLocation> runs) {
            return new Entry(false, false, runs);
        }
    }

    /** Renders the directory for the wire. */
    public byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(16 + outputs.size() * (MIN_ENTRY_BYTES + RUN_BYTES));
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(shuffleId);
            out.writeInt(outputs.size());
            for (Map.Entry<Long, Entry> output : outputs.entrySet()) {
                out.writeLong(output.getKey());
                Entry entry = output.getValue();
                out.writeInt(
                        entry.pinnable()
                                ? PINNABLE
                                : entry.served() ? SERVED : entry.runs().size());
                for (RunLocation run : entry.runs()) {
                    out.writeLong(run.address());
                    out.writeInt(run.rkey());
                    out.writeLong(run.length());
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory cannot fail", e);
        }
        return Checksummed.seal(MAGIC, VERSION, bytes.toByteArray());
    }

    /**
     * Reads a directory from the wire.
     *
     * @throws CorruptMetadataException if anything about it is not as {@link #encode} writes it, or it is of another shuffle
     */
    public static MapOutputDirectory decode(byte[] message, int expectedShuffleId) throws CorruptMetadataException {
        ByteBuffer in = Checksummed.open("map output directory", MAGIC, VERSION, message);
        try {
            int shuffleId = in.getInt();
            if (shuffleId != expectedShuffleId) {
                throw new CorruptMetadataException("map output directory is of another shuffle: got=" + shuffleId
                        + ", expected=" + expectedShuffleId);
            }
            int count = bounded("entries", in.getInt(), in.remaining() / MIN_ENTRY_BYTES);
            Map<Long, Entry> outputs = new HashMap<>(count * 2);
            for (int i = 0; i < count; i++) {
                long mapId = in.getLong();
                int runCount = in.getInt();
                outputs.put(mapId, decodeEntry(in, runCount));
            }
            if (in.hasRemaining()) {
                throw new CorruptMetadataException("map output directory has trailing bytes: count=" + in.remaining());
            }
            return new MapOutputDirectory(shuffleId, outputs);
        } catch (BufferUnderflowException e) {
            throw new CorruptMetadataException("map output directory ends within an entry: payloadBytes=" + in.limit());
        }
    }

    private static Entry decodeEntry(ByteBuffer in, int runCount) throws CorruptMetadataException {
        return switch (runCount) {
            case SERVED -> Entry.SERVED;
            case PINNABLE -> Entry.MAY_BE_PINNED;
            default -> Entry.inMemory(decodeRuns(in, runCount));
        };
    }

    private static List<RunLocation> decodeRuns(ByteBuffer in, int announced) throws CorruptMetadataException {
        int count = bounded("runs", announced, in.remaining() / RUN_BYTES);
        List<RunLocation> runs = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            runs.add(new RunLocation(in.getLong(), in.getInt(), in.getLong()));
        }
        return runs;
    }

    private static int bounded(String what, int count, int max) throws CorruptMetadataException {
        if (count < 0 || count > max) {
            throw new CorruptMetadataException(
                    "map output directory has an impossible count of " + what + ": count=" + count + ", atMost=" + max);
        }
        return count;
    }
}
