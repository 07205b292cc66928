package io.verbena.transport.verbs.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Limits of this process's control group (version 2) that registered memory runs into. Threads: stateless. */
final class CgroupLimits {
    private static final Path MOUNT = Path.of("/sys/fs/cgroup");
    private static final Path MEMBERSHIP = Path.of("/proc/self/cgroup");

    private CgroupLimits() {}

    /** Returns what is tighter than that much registered memory, in words; empty if nothing is or there is no control group. */
    static List<String> tighterThan(long bytes) {
        return tighterThan(bytes, MOUNT, MEMBERSHIP);
    }

    static List<String> tighterThan(long bytes, Path mount, Path membership) {
        List<String> found = new ArrayList<>();
        try {
            for (Path group = group(mount, membership);
                    group != null && group.startsWith(mount);
                    group = group.getParent()) {
                long memory = limit(group.resolve("memory.max"));
                if (memory < bytes) {
                    found.add(group + " allows memory.max=" + memory
                            + " bytes, less than the executor's shuffle memory of " + bytes
                            + " bytes: raise spark.executor.memoryOverhead or the container's limit");
                }
                Path devices = group.resolve("rdma.max");
                String text =
                        Files.isReadable(devices) ? Files.readString(devices).strip() : "";
                if (text.matches("(?s).*hca_object=\\d+.*")) {
                    found.add(group + " limits RDMA objects: " + text.replace('\n', ' '));
                }
            }
        } catch (IOException e) {
            // Not readable here: the limits show when they are hit.
            found.clear();
        }
        return found;
    }

    private static Path group(Path mount, Path membership) throws IOException {
        if (!Files.isReadable(membership)) {
            return null;
        }
        for (String line : Files.readAllLines(membership)) {
            if (line.startsWith("0::/")) {
                return mount.resolve(line.substring("0::/".length())).normalize();
            }
        }
        return null;
    }

    private static long limit(Path file) throws IOException {
        String text = Files.isReadable(file) ? Files.readString(file).strip() : "max";
        return text.matches("\\d+") ? Long.parseLong(text) : Long.MAX_VALUE;
    }
}
