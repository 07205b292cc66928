package io.verbena.shuffle.writer;

import java.io.IOException;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * Charges a task's staging buffer to Spark's execution memory, and gives it back when another consumer of the task needs it.
 *
 * <p>Threads: confined to the thread that created it. Spark asks for a spill on whichever thread of the task needs memory, and
 * some tasks have two (the feeder of a Python worker or of a pipe): only our own is listened to.
 */
final class StagingMemory extends MemoryConsumer {
    /** Least staging for a run, as a multiple of the run's index, so that the index stays below a sixteenth of the memory. */
    private static final long INDEX_MULTIPLE = 16;

    private static final long MIN_FLOOR_BYTES = 1 << 16;

    private final Staging staging;
    private final long wantedBytes;
    private final long floorBytes;
    private final Thread owner = Thread.currentThread();

    /**
     * Creates a consumer that holds nothing.
     *
     * @param wantedBytes the size of a staging buffer
     * @param indexBytes the index of a run; what is staged whatever Spark grants, and not charged, follows from it
     */
    StagingMemory(TaskMemoryManager memory, Staging staging, long wantedBytes, long indexBytes) {
        super(memory, wantedBytes, memory.getTungstenMemoryMode());
        this.staging = staging;
        this.wantedBytes = wantedBytes;
        this.floorBytes = Math.min(wantedBytes, Math.max(MIN_FLOOR_BYTES, INDEX_MULTIPLE * indexBytes));
    }

    /** Attaches a staging buffer as large as Spark grants. */
    void attach() {
        long granted = acquireMemory(wantedBytes);
        staging.attach(Math.max(floorBytes, granted));
    }

    /** Gives buffer and charge back. */
    void detach() {
        staging.detach();
        freeMemory(getUsed());
    }

    @Override
    public long spill(long size, MemoryConsumer trigger) throws IOException {
        if (trigger == this || Thread.currentThread() != owner || !staging.isAttached() || staging.inRecord()) {
            return 0;
        }
        long held = getUsed();
        staging.flush();
        detach();
        return held;
    }
}
