package io.verbena.shuffle.writer;

import io.verbena.memory.OffHeap;
import io.verbena.shuffle.pairs.PairTarget;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.storage.ShuffleBlockId;

/**
 * Where a task's records wait until there are enough for a run. Each lies as
 *
 * <pre>   partition u32 | length u32 | bytes, padded to 8   </pre>
 *
 * with the bytes per partition counted beside. One linear pass then copies every record to its final place: no pointer array, no
 * sort, no stream per partition, whatever the number of partitions.
 *
 * <p>Threads: confined to the task's thread.
 */
final class Staging {
    private static final int HEADER = 8;

    private final StagingPool pool;
    private final RunSink sink;
    private final SliceEncoder encoder;
    private final boolean rows;
    private final int shuffleId;
    private final long mapId;
    private final ShuffleWriteMetricsReporter metrics;
    private final long[] partitionBytes;
    private final long[] cursor;
    private final OutputStream recordStream = new RecordStream();
    private final PairTarget record = new CurrentRecord();

    private ScratchBuffer plain;
    private ScratchBuffer buffer;
    private long address;
    private long position;
    private long limit;
    private long recordStart = -1;

    /**
     * Creates an empty staging area without memory; {@link #attach} gives it some.
     *
     * @param encoder {@code null} when slices stay plain
     */
    Staging(
            StagingPool pool,
            RunSink sink,
            SliceEncoder encoder,
            boolean rows,
            int partitions,
            int shuffleId,
            long mapId,
            ShuffleWriteMetricsReporter metrics) {
        this.pool = pool;
        this.sink = sink;
        this.encoder = encoder;
        this.rows = rows;
        this.shuffleId = shuffleId;
        this.mapId = mapId;
        this.metrics = metrics;
        this.partitionBytes = new long[partitions];
        this.cursor = new long[partitions];
    }

    /** Takes a buffer from the pool and uses up to {@code bytes} of it before a run is written. */
    void attach(long bytes) {
        buffer = pool.acquire();
        address = buffer.address();
        limit = Math.min(bytes, buffer.capacity());
    }

    boolean isAttached() {
        return buffer != null;
    }

    /** True between {@link #beginRecord} and {@link #endRecord}: no run may be written then. */
    boolean inRecord() {
        return recordStart >= 0;
    }

    /** Gives the buffer back; what is staged must have been written. */
    void detach() {
        if (buffer != null) {
            pool.release(buffer);
            if (plain != null) {
                pool.release(plain);
                plain = null;
            }
            buffer = null;
            address = 0;
            position = 0;
            limit = 0;
        }
    }

    /** Stages one row; {@code base} and {@code offset} as in an UnsafeRow. */
    void addRow(int partition, Object base, long offset, int length) throws IOException {
        // A row's length is a multiple of 8, so rows stay aligned without padding.
        long needed = (long) HEADER + length;
        if (position + needed > limit) {
            makeRoom(needed);
        }
        long target = address + position;
        OffHeap.putInt(target, partition);
        OffHeap.putInt(target + 4, length);
        OffHeap.copy(base, offset, null, target + HEADER, length);
        position += needed;
        partitionBytes[partition] += needed;
    }

    private void makeRoom(long needed) throws IOException {
        flush();
        if (needed > buffer.capacity()) {
            buffer.reserve(needed, 0);
            address = buffer.address();
        }
    }

    /** Starts a record whose bytes the caller writes to {@link #recordStream}. */
    void beginRecord() throws IOException {
        if (position + HEADER > limit) {
            flush();
        }
        recordStart = position;
        position += HEADER;
    }

    OutputStream recordStream() {
        return recordStream;
    }

    /** The current record, for who puts it together by address. */
    PairTarget record() {
        return record;
    }

    /** Ends the record and files it under its partition. */
    void endRecord(int partition) {
        long length = position - recordStart - HEADER;
        OffHeap.putInt(address + recordStart, partition);
        OffHeap.putInt(address + recordStart + 4, (int) length);
        partitionBytes[partition] += length;
        position = (position + 7) & ~7L;
        recordStart = -1;
    }

    /** Writes what is staged as one run; nothing when there is nothing. */
    void flush() throws IOException {
        if (position == 0) {
            return;
        }
        long began = System.nanoTime();
        writeRun(position);
        position = 0;
        metrics.incWriteTime(System.nanoTime() - began);
    }

    private void writeRun(long end) throws IOException {
        int partitions = partitionBytes.length;
        long[] starts = new long[partitions + 1];
        for (int p = 0; p < partitions; p++) {
            starts[p + 1] = starts[p] + partitionBytes[p];
        }
        if (encoder == null) {
            sink.add(starts, target -> scatter(end, starts, target));
        } else {
            writeEncoded(end, starts);
        }
        Arrays.fill(partitionBytes, 0);
    }

    private void scatter(long end, long[] starts, long target) {
        for (int p = 0; p < cursor.length; p++) {
            cursor[p] = target + starts[p];
        }
        long from = address;
        long stop = address + end;
        if (rows) {
            while (from < stop) {
                int partition = OffHeap.getInt(from);
                int length = OffHeap.getInt(from + 4);
                long to = cursor[partition];
                OffHeap.putLong(to, length);
                OffHeap.copy(null, from + HEADER, null, to + HEADER, length);
                cursor[partition] = to + HEADER + length;
                from += (long) HEADER + length;
            }
        } else {
            while (from < stop) {
                int partition = OffHeap.getInt(from);
                int length = OffHeap.getInt(from + 4);
                long to = cursor[partition];
                OffHeap.copy(null, from + HEADER, null, to, length);
                cursor[partition] = to + length;
                from += ((long) HEADER + length + 7) & ~7L;
            }
        }
    }

    private void writeEncoded(long end, long[] starts) throws IOException {
        int partitions = partitionBytes.length;
        if (plain == null) {
            plain = pool.acquire();
        }
        plain.reserve(starts[partitions], 0);
        scatter(end, starts, plain.address());
        ScratchBuffer encoded = pool.acquire();
        try {
            ScratchStream out = new ScratchStream(encoded);
            long[] encodedStarts = new long[partitions + 1];
            for (int p = 0; p < partitions; p++) {
                if (starts[p] != starts[p + 1]) {
                    encoder.encode(
                            new ShuffleBlockId(shuffleId, mapId, p),
                            plain.view(starts[p], starts[p + 1] - starts[p]),
                            out);
                }
                encodedStarts[p + 1] = out.position();
            }
            sink.add(encodedStarts, target -> OffHeap.copy(null, encoded.address(), null, target, out.position()));
        } finally {
            pool.release(encoded);
        }
    }

    /** Appends to the current record. */
    private final class RecordStream extends OutputStream {
        @Override
        public void write(int value) throws IOException {
            ensure(1);
            OffHeap.putByte(address + position++, (byte) value);
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            ensure(length);
            OffHeap.copy(source, OffHeap.BYTE_ARRAY_OFFSET + offset, null, address + position, length);
            position += length;
        }
    }

    /** Makes room behind the current record, moving it to an empty (or larger) buffer when it does not fit. */
    private void ensure(int length) throws IOException {
        if (position + length <= limit || (recordStart == 0 && position + length <= buffer.capacity())) {
            return;
        }
        if (recordStart > 0) {
            // Write the complete records before this one, then move its beginning to the front.
            long partial = position - recordStart;
            long began = System.nanoTime();
            writeRun(recordStart);
            metrics.incWriteTime(System.nanoTime() - began);
            OffHeap.copy(null, address + recordStart, null, address, partial);
            recordStart = 0;
            position = partial;
        }
        buffer.reserve(position + length, position);
        address = buffer.address();
    }

    /** The current record's bytes behind the staging header. */
    private final class CurrentRecord implements PairTarget {
        @Override
        public long append(int length) throws IOException {
            ensure(length);
            long at = address + position;
            position += length;
            return at;
        }

        @Override
        public int length() {
            return (int) (position - recordStart - HEADER);
        }

        @Override
        public long address(int offset) {
            return address + recordStart + HEADER + offset;
        }

        @Override
        public OutputStream stream() {
            return recordStream;
        }
    }
}
