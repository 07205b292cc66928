package io.verbena.shuffle.reader;

import io.verbena.arena.Arena;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunBlocks;
import io.verbena.shuffle.metadata.RunIndex;
import io.verbena.shuffle.metadata.RunLocation;
import io.verbena.shuffle.metadata.RunPart;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.TransportException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Blocks of several map outputs of one peer, read by one request into one lease.
 *
 * <p>Ownership: from {@link #post} until {@code done} is called the memory and the hold on the peer's lease are the request's, even
 * if the task ends meanwhile; then they are the receiver's, who calls {@link #free} once.
 * <p>Threads: the task posts and uses it; the transport's progress thread ends it.
 */
final class ReadBatch implements ReadRequest.Listener {
    /** Rows are read as longs. */
    private static final int ALIGNMENT = 8;

    private final List<WantedOutput> outputs;
    private final RegisteredBuffer memory;
    private final Consumer<ReadBatch> done;
    private final List<ReadRequest.Range> ranges = new ArrayList<>();
    private final long bytes;
    private volatile TransportException failure;
    private int users;
    private boolean handedOut;

    /**
     * Prepares a read.
     *
     * @param outputs of one peer and shuffle, with known indexes and at least one byte in all
     * @param memory a lease of {@link #bytes}, owned by the batch from here on
     * @param done told on the progress thread; must not block
     */
    ReadBatch(List<WantedOutput> outputs, RegisteredBuffer memory, Consumer<ReadBatch> done) {
        this.outputs = List.copyOf(outputs);
        this.memory = memory;
        this.done = done;
        this.bytes = memory.capacity();
        this.users = outputs.size();
        long at = 0;
        for (WantedOutput output : outputs) {
            for (int i = 0; i < output.indexes().size(); i++) {
                long length = rangeLength(output, i);
                if (length > 0) {
                    RunLocation run = output.entry().runs().get(i);
                    long offset =
                            output.indexes().get(i).sliceOffset(output.ref().startReduceId());
                    ranges.add(new ReadRequest.Range(run.address() + offset, run.rkey(), length, at));
                    at += aligned(length);
                }
            }
        }
    }

    /** Bytes of memory that a map output takes in a batch. */
    static long bytes(WantedOutput output) {
        long bytes = 0;
        for (int i = 0; i < output.indexes().size(); i++) {
            bytes += aligned(rangeLength(output, i));
        }
        return bytes;
    }

    private static long rangeLength(WantedOutput output, int run) {
        return output.indexes()
                .get(run)
                .rangeLength(output.ref().startReduceId(), output.ref().endReduceId());
    }

    private static long aligned(long length) {
        return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /** Memory held, in bytes. */
    long bytes() {
        return bytes;
    }

    List<WantedOutput> outputs() {
        return outputs;
    }

    /** Starts the read; whatever comes of it, {@code done} is told once. */
    void post(long deadlineNs) {
        PeerShuffle shuffle = outputs.get(0).shuffle();
        if (!shuffle.hold()) {
            failure = new TransportException(
                    TransportException.Reason.CLOSED, "the lease on the shuffle has ended before it was read");
            done.accept(this);
            return;
        }
        boolean posted = false;
        try {
            shuffle.read(new ReadRequest(memory, ranges, deadlineNs, this));
            posted = true;
        } finally {
            if (!posted) {
                shuffle.endHold();
            }
        }
    }

    @Override
    public void onSuccess() {
        end();
    }

    @Override
    public void onFailure(TransportException cause) {
        failure = cause;
        end();
    }

    private void end() {
        outputs.get(0).shuffle().endHold();
        done.accept(this);
    }

    /** Why it failed, {@code null} if all bytes are there; for the receiver. */
    TransportException failure() {
        return failure;
    }

    /** The blocks of every map output, in the order of {@link #outputs}, not verified. */
    List<List<RunBlocks>> parts() {
        ByteBuffer all = memory.buffer();
        List<List<RunBlocks>> parts = new ArrayList<>(outputs.size());
        int at = 0;
        for (WantedOutput output : outputs) {
            List<RunBlocks> runs = new ArrayList<>(output.indexes().size());
            for (int i = 0; i < output.indexes().size(); i++) {
                RunIndex index = output.indexes().get(i);
                long length = rangeLength(output, i);
                runs.add(new RunPart(index, output.ref().startReduceId(), all.slice(at, (int) length)));
                at += (int) aligned(length);
            }
            parts.add(runs);
        }
        return parts;
    }

    /**
     * One of the map outputs is not used any more.
     *
     * @param layout of what was handed out of it, {@code null} if nothing was
     * @return true for the last one
     */
    boolean endUse(BlockLayout layout) {
        handedOut |= layout != null;
        return --users == 0;
    }

    /** Whether none of the map outputs is used any more. */
    boolean isUnused() {
        return users == 0;
    }

    /** Whether anything in it was handed out. */
    boolean wasHandedOut() {
        return handedOut;
    }

    /** Gives the memory back. */
    void free() {
        memory.release();
    }

    /** Gives the memory back, to be used again only after that time. */
    void freeLater(Arena arena, long delayNs) {
        long fromNs = System.nanoTime() + delayNs;
        arena.retire(memory, () -> System.nanoTime() - fromNs >= 0);
    }
}
