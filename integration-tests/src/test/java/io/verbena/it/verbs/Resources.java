package io.verbena.it.verbs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * What this process holds.
 *
 * @param descriptors open files
 * @param threads of the JVM and its libraries
 * @param verbs queue pairs, memory regions and the rest, as {@code rdma resource} counts them on all devices
 * @param residentBytes of the process
 */
record Resources(long descriptors, long threads, String verbs, long residentBytes) {
    /** Waits until two looks in a row agree on everything countable: connections end in the background. */
    static Resources settled() throws IOException, InterruptedException {
        System.gc();
        Resources last = now();
        for (int i = 0; i < 200; i++) {
            LockSupport.parkNanos(100_000_000);
            Resources next = now();
            if (next.descriptors == last.descriptors && next.threads == last.threads && next.verbs.equals(last.verbs)) {
                return next;
            }
            last = next;
        }
        throw new AssertionError("the process does not settle: " + last);
    }

    private static Resources now() throws IOException, InterruptedException {
        long descriptors;
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            descriptors = files.count();
        }
        Process rdma =
                new ProcessBuilder("rdma", "resource").redirectErrorStream(true).start();
        String verbs = new String(rdma.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (rdma.waitFor() != 0) {
            throw new IOException("rdma resource failed: " + verbs);
        }
        return new Resources(descriptors, status("Threads"), verbs, status("VmRSS") << 10);
    }

    private static long status(String key) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith(key + ":"))
                    .map(line -> line.replaceAll("[^0-9]", ""))
                    .mapToLong(Long::parseLong)
                    .findFirst()
                    .orElseThrow();
        }
    }
}
