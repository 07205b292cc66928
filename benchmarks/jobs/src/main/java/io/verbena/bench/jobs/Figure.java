package io.verbena.bench.jobs;

/** What is measured of a run. */
enum Figure {
    /** From the job's start to its result. */
    WALL("wallSeconds"),
    /** CPU time of the threads of tasks (Spark's executorCpuTime): without Netty, collectors and compilers. */
    TASK_CPU("taskCpuSeconds"),
    /**
     * CPU time of the executors' processes with all their threads but those that compile bytecode, while the job ran. Compilers are
     * left out because they fall silent in executors that live longer than a benchmark's.
     */
    EXECUTOR_CPU("executorCpuSeconds"),
    /** The part of it outside the kernel: the figure that says most about other machines. */
    USER_CPU("userCpuSeconds"),
    /** The part of it in the kernel. */
    SYSTEM_CPU("systemCpuSeconds"),
    /** CPU time of the executors' threads that compile bytecode: where it is large, the JVMs were not warm. */
    COMPILER_CPU("compilerCpuSeconds"),
    /** Both together: all that the executors' processes took. */
    PROCESS_CPU("processCpuSeconds"),
    /** Collections, in elapsed time, as tasks saw them. */
    GC("gcSeconds"),
    /** How long tasks waited for blocks. */
    FETCH_WAIT("fetchWaitSeconds"),
    /** What shuffle writers reported. */
    WRITTEN("shuffleBytesWritten"),
    /** Blocks that shuffle readers reported. */
    BLOCKS("blocksRead"),
    /** Verbena: bytes read in place from the executor's own memory. */
    READ_SELF("readSelfBytes"),
    /** Verbena: bytes read in place from the neighbour's memory. */
    READ_MAPPED("readMappedBytes"),
    /** Verbena: bytes that came by RDMA. */
    READ_RDMA("readRdmaBytes"),
    /** Verbena: bytes that came over Netty. */
    READ_NETTY("readNettyBytes"),
    /** Verbena: bytes read from the executor's own files. */
    READ_LOCAL_FILE("readLocalFileBytes"),
    /** Verbena: bytes written to files for want of memory. */
    OVERFLOWED("overflowedBytes"),
    /** Verbena: registered memory of both executors after the job; none is given back before it was idle for a minute. */
    REGISTERED("registeredBytes");

    private final String label;

    Figure(String label) {
        this.label = label;
    }

    /** Its name in results: camelCase with the unit last. */
    String label() {
        return label;
    }

    /** Whether it is in seconds. */
    boolean isTime() {
        return label.endsWith("Seconds");
    }
}
