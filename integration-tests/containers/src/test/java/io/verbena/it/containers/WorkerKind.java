package io.verbena.it.containers;

/**
 * What a worker's container has in /dev/shm.
 *
 * @param sharedMemoryBytes size of the file system
 * @param sharing whether all workers have the same one
 */
record WorkerKind(long sharedMemoryBytes, boolean sharing) {
    /** What Docker gives unless told otherwise. */
    static final WorkerKind DOCKERS_DEFAULT = new WorkerKind(64L << 20, false);

    /** As with --shm-size=512m. */
    static final WorkerKind ROOMY = new WorkerKind(512L << 20, false);

    /** As with --ipc=shareable for the first and --ipc=container:FIRST for the others. */
    static final WorkerKind SHARED = new WorkerKind(1L << 30, true);
}
