package io.verbena.shuffle.reader;

import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.transport.ReadLease;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.LongFunction;
import org.apache.spark.network.buffer.ManagedBuffer;

/** Map outputs of this executor: in its own memory, or in a file of its own. Threads: confined to the task. */
final class SelfWay implements AutoCloseable {
    private final ReadTask task;
    private final Deque<MapRef> waiting = new ArrayDeque<>();
    private final LocalReads reads;
    private ReadLease lease;
    private LongFunction<MapOutput> outputs;

    SelfWay(ReadTask task) {
        this.task = task;
        this.reads = new LocalReads(task, ShuffleCounter.READ_SELF_BYTES);
    }

    /** Takes the lease on the shuffle and remembers the map outputs. */
    void add(List<MapRef> refs) {
        if (lease == null) {
            lease = task.resources().store().lease(task.shuffleId());
            outputs = task.resources().store().outputs(task.shuffleId());
        }
        waiting.addAll(refs);
    }

    /** Opens the next one; {@code null} after the last. */
    BlockSource poll() {
        MapRef ref = waiting.poll();
        return ref == null ? null : open(ref);
    }

    private BlockSource open(MapRef ref) {
        ManagedBuffer buffer = null;
        try {
            if (outputs.apply(ref.mapId()) instanceof MapOutput.InMemory memory) {
                RunSource source = new RunSource(ref, memory.open());
                reads.add(source.bytes());
                return source;
            }
            buffer = task.resources()
                    .server()
                    .frame(task.shuffleId(), ref.mapId(), ref.startReduceId(), ref.endReduceId());
            FrameSource source = new FrameSource(ref, buffer);
            task.local(1, source.bytes(), ShuffleCounter.READ_LOCAL_FILE_BYTES);
            return source;
        } catch (IOException e) {
            if (buffer != null) {
                buffer.release();
            }
            throw task.fail(ref, e);
        }
    }

    /** Reports what was read so far. */
    void report() {
        reads.report();
    }

    @Override
    public void close() {
        if (lease != null) {
            lease.close();
        }
    }
}
