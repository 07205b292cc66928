package io.verbena.bench.jobs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * CPU time of processes, all threads. The kernel splits it by sampling, so the parts of a short time are rough; the sum is not.
 *
 * @param processes how many were added up
 * @param userSeconds outside the kernel
 * @param systemSeconds in the kernel
 */
record ProcessTimes(int processes, double userSeconds, double systemSeconds) {
    /** USER_HZ, which is 100 on x86-64 and arm64 whatever the kernel's own frequency is: proc(5), sysconf(3). */
    private static final double TICKS_PER_SECOND = 100;

    /** utime and stime are fields 14 and 15 of proc_pid_stat(5); field 3 is the first after the name. */
    private static final int USER_FIELD = 14 - 3;

    private static final int SYSTEM_FIELD = 15 - 3;

    /** Adds up the processes that this one started: on a driver with a local cluster, its executors. */
    static ProcessTimes ofDescendants() throws IOException {
        List<Long> ids =
                ProcessHandle.current().descendants().map(ProcessHandle::pid).toList();
        ProcessTimes sum = new ProcessTimes(0, 0, 0);
        for (long id : ids) {
            sum = sum.plus(parse(Files.readString(Path.of("/proc", Long.toString(id), "stat"))));
        }
        return sum;
    }

    /** Reads a line of {@code /proc/<pid>/stat}. */
    static ProcessTimes parse(String stat) {
        // The name in parentheses may hold blanks and parentheses.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
        return new ProcessTimes(
                1,
                Long.parseLong(fields[USER_FIELD]) / TICKS_PER_SECOND,
                Long.parseLong(fields[SYSTEM_FIELD]) / TICKS_PER_SECOND);
    }

    private ProcessTimes plus(ProcessTimes other) {
        return new ProcessTimes(
                processes + other.processes, userSeconds + other.userSeconds, systemSeconds + other.systemSeconds);
    }

    /**
     * What was spent since.
     *
     * @throws IllegalStateException if a process came or went
     */
    ProcessTimes since(ProcessTimes before) {
        if (processes != before.processes || processes == 0) {
            throw new IllegalStateException("executors came or went during the run: before=" + before.processes
                    + ", after=" + processes + "; see the executors' logs");
        }
        return new ProcessTimes(processes, userSeconds - before.userSeconds, systemSeconds - before.systemSeconds);
    }
}
