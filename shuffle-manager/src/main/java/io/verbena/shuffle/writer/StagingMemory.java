package io.verbena.shuffle.writer;

import java.io.IOException;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * Charges a task's staging buffer to Spark's execution memory, and gives it back when another consumer of the task needs it.
 *
 * <p>Threads: Spark asks for a spill on the task's own thread.
 */
final class StagingMemory extends MemoryConsumer {
    /** What a task may stage when Spark grants nothing; not charged. */
    private static final long FLOOR_BYTES = 1 << 16;

    private final Staging staging;
    private final long wantedBytes;

    StagingMemory(TaskMemoryManager memory, Staging staging, long wantedBytes) {
        super(memory, wantedBytes, memory.getTungstenMemoryMode());
        this.staging = staging;
        this.wantedBytes = wantedBytes;
    }

    /** Attaches a staging buffer as large as Spark grants. */
    void attach() {
        long granted = acquireMemory(wantedBytes);
        staging.attach(Math.max(FLOOR_BYTES, granted));
    }

    /** Gives buffer and charge back. */
    void detach() {
        staging.detach();
        freeMemory(getUsed());
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) throws IOException {
        if (trigger == this || !staging.isAttached() || staging.inRecord()) {
            return 0;
        }
        long held = getUsed();
        staging.flush();
        detach();
        return held;
    }
}
