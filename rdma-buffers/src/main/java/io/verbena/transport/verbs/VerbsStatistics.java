package io.verbena.transport.verbs;

/**
 * What the verbs transport has done so far.
 *
 * @param readWorkRequests RDMA Read work requests posted
 * @param readBytes bytes of reads that completed with success
 * @param doorbells calls that posted a chain of work requests
 * @param completions completion queue entries polled
 * @param strayCompletions entries that matched nothing in flight: duplicates, or of a connection that was given up
 * @param connects connections established as the reader
 * @param accepts connections established as the owner
 * @param rejects connect requests refused: wrong token, version or capacity
 * @param connectionFailures established connections that broke
 * @param openConnections connections now, both directions
 * @param registrationFailures segments that a device refused
 */
public record VerbsStatistics(
        long readWorkRequests,
        long readBytes,
        long doorbells,
        long completions,
        long strayCompletions,
        long connects,
        long accepts,
        long rejects,
        long connectionFailures,
        long openConnections,
        long registrationFailures) {}
