package io.verbena.shuffle.reader;

import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.transport.ReadLease;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;

/** Map outputs of this executor: in its own memory, or in a file of its own. Threads: confined to the task. */
final class SelfWay implements AutoCloseable {
    private final ReadTask task;
    private final Deque<MapRef> waiting = new ArrayDeque<>();
    private ReadLease lease;

    SelfWay(ReadTask task) {
        this.task = task;
    }

    /** Takes the lease on the shuffle and remembers the map outputs. */
    void add(List<MapRef> refs) {
        if (lease == null) {
            lease = task.resources().store().lease(task.shuffleId());
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
            if (task.resources().store().get(task.shuffleId(), ref.mapId()) instanceof MapOutput.InMemory memory) {
                RunSource source = new RunSource(ref, memory.open());
                task.local(source.bytes(), ShuffleCounter.READ_SELF_BYTES);
                return source;
            }
            buffer = task.resources()
                    .server()
                    .frame(task.shuffleId(), ref.mapId(), ref.startReduceId(), ref.endReduceId());
            FrameSource source = new FrameSource(ref, buffer);
            task.local(source.bytes(), ShuffleCounter.READ_LOCAL_FILE_BYTES);
            return source;
        } catch (IOException e) {
            if (buffer != null) {
                buffer.release();
            }
            throw task.fail(ref, e);
        }
    }

    @Override
    public void close() {
        if (lease != null) {
            lease.close();
        }
    }
}
