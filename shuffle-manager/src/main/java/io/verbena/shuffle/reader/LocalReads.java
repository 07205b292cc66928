package io.verbena.shuffle.reader;

import io.verbena.shuffle.metrics.ShuffleCounter;

/**
 * Counts map outputs that a task reads on its own host, and reports them some at a time: with small blocks the reports would cost more
 * than finding them.
 *
 * <p>Threads: any; the task's thread may report while a thread that it feeds a pipe with still reads.
 */
final class LocalReads {
    /** The UI shows what was reported while the task runs. */
    private static final int REPORT_EVERY = 64;

    private final ReadTask task;
    private final ShuffleCounter counter;
    private int mapOutputs;
    private long bytes;

    LocalReads(ReadTask task, ShuffleCounter counter) {
        this.task = task;
        this.counter = counter;
    }

    /** Counts a map output. */
    synchronized void add(long length) {
        bytes += length;
        if (++mapOutputs == REPORT_EVERY) {
            report();
        }
    }

    /** Reports what was counted since the last time. */
    synchronized void report() {
        if (mapOutputs > 0) {
            task.local(mapOutputs, bytes, counter);
            mapOutputs = 0;
            bytes = 0;
        }
    }
}
