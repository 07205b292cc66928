package io.verbena.bench.jobs;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * CPU time of JVMs, all threads. The kernel splits it by sampling, so the parts of a short time are rough; the sum is not.
 *
 * @param processes how many were added up
 * @param userSeconds outside the kernel, without compilers
 * @param systemSeconds in the kernel, without compilers
 * @param compilerSeconds of the threads that compile bytecode, inside the kernel and outside
 */
record ProcessTimes(int processes, double userSeconds, double systemSeconds, double compilerSeconds) {
    /** USER_HZ, which is 100 on x86-64 and arm64 whatever the kernel's own frequency is: proc(5), sysconf(3). */
    private static final double TICKS_PER_SECOND = 100;

    /** utime and stime are fields 14 and 15 of proc_pid_stat(5); field 3 is the first after the name. */
    private static final int USER_FIELD = 14 - 3;

    private static final int SYSTEM_FIELD = 15 - 3;

    /**
     * Adds up the JVMs that this process started: on a driver with a local cluster, its executors. Other processes, such as a
     * command that an executor starts, come and go.
     */
    static ProcessTimes ofDescendants() throws IOException {
        int processes = 0;
        double user = 0;
        double system = 0;
        double compilers = 0;
        for (ProcessHandle descendant : ProcessHandle.current().descendants().toList()) {
            Path process = Path.of("/proc", Long.toString(descendant.pid()));
            List<String> threads = compilers(process.resolve("task"));
            if (threads.isEmpty()) {
                continue;
            }
            String all = Files.readString(process.resolve("stat"));
            processes++;
            user += userSeconds(all);
            system += systemSeconds(all);
            for (String thread : threads) {
                user -= userSeconds(thread);
                system -= systemSeconds(thread);
                compilers += userSeconds(thread) + systemSeconds(thread);
            }
        }
        return new ProcessTimes(processes, user, system, compilers);
    }

    /** Lines about the threads of a process that compile bytecode; none if it is no JVM, or has ended. */
    private static List<String> compilers(Path threads) throws IOException {
        List<String> lines = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(threads)) {
            for (Path thread : entries) {
                try {
                    String line = Files.readString(thread.resolve("stat"));
                    if (isCompiler(line)) {
                        lines.add(line);
                    }
                } catch (NoSuchFileException e) {
                    // The thread has ended; compilers' threads do not.
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        }
        return lines;
    }

    /** Whether a line of {@code /proc/<pid>/task/<id>/stat} has the name of a thread that compiles. */
    static boolean isCompiler(String stat) {
        return stat.startsWith("C1 Compiler", stat.indexOf('(') + 1)
                || stat.startsWith("C2 Compiler", stat.indexOf('(') + 1);
    }

    /** Reads the user time from a line of {@code /proc/<pid>/stat}. */
    static double userSeconds(String stat) {
        return seconds(stat, USER_FIELD);
    }

    /** Reads the system time from a line of {@code /proc/<pid>/stat}. */
    static double systemSeconds(String stat) {
        return seconds(stat, SYSTEM_FIELD);
    }

    private static double seconds(String stat, int field) {
        // The name in parentheses may hold blanks and parentheses.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
        return Long.parseLong(fields[field]) / TICKS_PER_SECOND;
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
        return new ProcessTimes(
                processes,
                userSeconds - before.userSeconds,
                systemSeconds - before.systemSeconds,
                compilerSeconds - before.compilerSeconds);
    }
}
