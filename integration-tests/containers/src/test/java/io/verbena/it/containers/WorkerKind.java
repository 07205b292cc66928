package io.verbena.it.containers;

/**
 * What a worker's container has.
 *
 * @param sharedMemoryBytes size of the file system at /dev/shm
 * @param sharing whether all workers have the same one
 * @param executors how many executors of one core it runs for an application
 */
record WorkerKind(long sharedMemoryBytes, boolean sharing, int executors) {
    private static final long WORKER_BYTES = 512L << 20;
    /** Heap and what else a JVM needs, and what it has in /dev/shm. */
    private static final long EXECUTOR_BYTES = 1L << 30;

    /** What Docker gives unless told otherwise. */
    static final WorkerKind DOCKERS_DEFAULT = new WorkerKind(64L << 20, false, 1);

    /** As with --shm-size=512m, and two executors in each container. */
    static final WorkerKind PAIRS = new WorkerKind(512L << 20, false, 2);

    /** As with --ipc=shareable for the first and --ipc=container:FIRST for the others. */
    static final WorkerKind SHARED = new WorkerKind(1L << 30, true, 1);

    /** The limit of the container. */
    long memoryBytes() {
        return WORKER_BYTES + executors * EXECUTOR_BYTES;
    }
}
