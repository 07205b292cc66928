package io.verbena.shuffle.metrics;

/**
 * Everything an executor counts about its shuffles. Values only grow.
 *
 * <p>Sums that hold when all tasks have ended: bytes written = in memory + overflowed; every byte read came by exactly one way.
 */
public enum ShuffleCounter {
    /** Bytes of map outputs committed to registered memory, with their index. */
    WRITTEN_IN_MEMORY_BYTES("writtenInMemoryBytes"),
    /** Bytes of map outputs that found no room in memory and were committed as stock shuffle files, as the files have them. */
    OVERFLOWED_BYTES("overflowedBytes"),
    /** Map outputs behind {@link #OVERFLOWED_BYTES}. */
    OVERFLOWED_MAP_OUTPUTS("overflowedMapOutputs"),
    /** Bytes of memory given up by moving cold map outputs to stock shuffle files. Not part of the overflow. */
    EVICTED_BYTES("evictedBytes"),
    /** Map outputs behind {@link #EVICTED_BYTES}. */
    EVICTED_MAP_OUTPUTS("evictedMapOutputs"),
    /** Bytes read in place from this executor's own memory. */
    READ_SELF_BYTES("readSelfBytes"),
    /** Bytes read in place from a neighbour's mapped memory. */
    READ_MAPPED_BYTES("readMappedBytes"),
    /** Bytes of blocks copied out of a peer's memory, by RDMA Read or another transport without views; without indexes. */
    READ_RDMA_BYTES("readRdmaBytes"),
    /** Bytes that came over Spark's block transfer, without frame heads. */
    READ_NETTY_BYTES("readNettyBytes"),
    /** Bytes read from this executor's own stock shuffle files. */
    READ_LOCAL_FILE_BYTES("readLocalFileBytes"),
    /** Map outputs that could not be read one way and were read another, for instance because a checksum failed. */
    READ_RETRIES("readRetries"),
    /** Fetches given up: each became a FetchFailedException. */
    FETCH_FAILURES("fetchFailures"),
    /** Peers that are read over Spark's block transfer because no way leads to their memory. */
    PEERS_NOT_MAPPED("peersNotMapped"),
    /** Times that a peer was read over Spark's block transfer for a while because its connection failed again and again. */
    PEERS_DEMOTED("peersDemoted"),
    /** Connections made after {@link #PEERS_DEMOTED}. */
    PEERS_RECOVERED("peersRecovered"),
    /** Directories fetched from peers. */
    DIRECTORY_FETCHES("directoryFetches"),
    /** Files of map outputs that were registered so that peers can read them. */
    FILES_PINNED("filesPinned"),
    /** Requests for that which were refused: the peer fetches the blocks. */
    FILE_PIN_REFUSALS("filePinRefusals"),
    /** Blocks and directories answered to peers over Spark's block transfer. */
    SERVED_REQUESTS("servedRequests"),
    /** Sorts of a reduce task's records, all or those that were then spilled, in which the ordering confirmed that of prefixes. */
    SORTS_BY_PREFIX("sortsByPrefix"),
    /** Other such sorts: keys without a prefix, an ordering that does not follow it, or few records. */
    SORTS_BY_COMPARISON("sortsByComparison");

    private final String label;

    ShuffleCounter(String label) {
        this.label = label;
    }

    /** Name in metrics and logs: camelCase with its unit last. */
    public String label() {
        return label;
    }
}
