package io.verbena.transport.verbs.engine;

import io.verbena.verbs.bound.VerbsNative;

/** What process and device allow to be registered, compared with what will be asked for. Threads: stateless. */
final class Limits {
    private Limits() {}

    /**
     * Returns what is in the way of registering that much on a device, with its remedy; null if nothing is.
     *
     * @param bytes memory of this executor and what may be pinned of files, in bytes
     * @param memlock in bytes, -1 if there is no limit
     */
    static String problem(long bytes, long maxRegionBytes, long memlock, boolean hasIpcLock) {
        if (memlock >= 0 && memlock < bytes && !hasIpcLock) {
            return "the limit on locked memory is too low: RLIMIT_MEMLOCK=" + memlock + " bytes, needed=" + bytes
                    + " bytes (spark.shuffle.rdma.memory.size and spark.shuffle.rdma.verbs.fileCache together). "
                    + remedy(memlock, false);
        }
        if (maxRegionBytes > 0 && maxRegionBytes < 1 << 20) {
            return "the device registers at most maxRegionBytes=" + maxRegionBytes + " at a time";
        }
        return null;
    }

    static String remedy(long memlock, boolean hasIpcLock) {
        return memlock < 0 || hasIpcLock
                ? "The limit on locked memory is not the reason: look at the device's limits and the container's memory"
                : "Raise the limit on locked memory, now " + memlock
                        + " bytes: 'ulimit -l unlimited' before the worker starts, LimitMEMLOCK=infinity in a systemd"
                        + " unit, 'memlock' in /etc/security/limits.conf, or the capability IPC_LOCK in a container";
    }

    static String problem(long bytes, Device device) {
        return problem(bytes, device.maxRegionBytes(), VerbsNative.memlockLimit(), VerbsNative.hasIpcLock());
    }
}
