package io.verbena.transport;

import io.verbena.arena.RegisteredBuffer;
import java.util.List;
import java.util.Objects;

/**
 * A vector of reads into one leased buffer. Immutable.
 *
 * <p>Ownership: from {@link RemoteMemory#read} until the listener is called the destination belongs to the transport.
 */
public final class ReadRequest {
    /**
     * One contiguous piece.
     *
     * @param remoteAddress absolute address in the peer
     * @param rkey of the segment that holds it
     * @param length in bytes
     * @param destinationOffset in bytes from the start of the destination
     */
    public record Range(long remoteAddress, int rkey, long length, long destinationOffset) {}

    /** Told about the end of a read, exactly once; must not block, since it runs on the progress thread. */
    public interface Listener {
        /** All ranges are in the destination. */
        void onSuccess();

        /** The destination's content is undefined. */
        void onFailure(TransportException cause);
    }

    private final RegisteredBuffer destination;
    private final List<Range> ranges;
    private final long deadlineNs;
    private final Listener listener;

    /**
     * @param deadlineNs absolute, on the clock of {@link System#nanoTime}
     * @throws IllegalArgumentException if a range does not fit the destination
     */
    public ReadRequest(RegisteredBuffer destination, List<Range> ranges, long deadlineNs, Listener listener) {
        this.destination = Objects.requireNonNull(destination);
        this.ranges = List.copyOf(ranges);
        this.deadlineNs = deadlineNs;
        this.listener = Objects.requireNonNull(listener);
        requireFit();
    }

    /**
     * For transports: checks again, since the destination may have been shrunk.
     *
     * @throws IllegalArgumentException if a range does not fit the destination
     */
    public void requireFit() {
        long capacity = destination.capacity();
        // By index: transports call this for every request, and an iterator is garbage.
        for (int i = 0; i < ranges.size(); i++) {
            Range range = ranges.get(i);
            long offset = range.destinationOffset();
            if (range.length() < 0 || offset < 0 || offset > capacity - range.length()) {
                throw new IllegalArgumentException("range does not fit the destination: destinationOffset=" + offset
                        + ", length=" + range.length() + ", capacity=" + capacity);
            }
        }
    }

    /** Returns the buffer that receives the bytes. */
    public RegisteredBuffer destination() {
        return destination;
    }

    /** Returns the pieces. */
    public List<Range> ranges() {
        return ranges;
    }

    /** Returns the deadline on the clock of {@link System#nanoTime}. */
    public long deadlineNs() {
        return deadlineNs;
    }

    /** Returns who is told. */
    public Listener listener() {
        return listener;
    }
}
