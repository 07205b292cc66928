package io.verbena.shuffle.reader;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;

/**
 * CPU time and garbage of the calling thread.
 *
 * @param cpuNs processor time, in nanoseconds
 * @param garbageBytes heap bytes allocated
 */
record Cost(long cpuNs, long garbageBytes) {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final MemoryMXBean MEMORY = ManagementFactory.getMemoryMXBean();

    /** What the thread has used since it began. */
    static Cost now() {
        return new Cost(THREADS.getCurrentThreadCpuTime(), THREADS.getCurrentThreadAllocatedBytes());
    }

    Cost since(Cost before) {
        return new Cost(cpuNs - before.cpuNs, garbageBytes - before.garbageBytes);
    }

    Cost plus(Cost other) {
        return new Cost(cpuNs + other.cpuNs, garbageBytes + other.garbageBytes);
    }

    Cost by(int count) {
        return new Cost(cpuNs / count, garbageBytes / count);
    }

    /** Heap that is reachable now, in bytes: the least of some rounds, since cleaners of buffers take one, and others allocate. */
    static long heapBytes() {
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 4; round++) {
            MEMORY.gc();
            least = Math.min(least, MEMORY.getHeapMemoryUsage().getUsed());
        }
        return least;
    }
}
