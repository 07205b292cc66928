package io.verbena.transport.verbs.engine;

/**
 * What a work request's {@code wr_id} says: bit 62 = receive, bits 40..61 = connection, bits 0..39 = number on the connection. A
 * completion of a connection that is gone finds nobody, because numbers of connections are not reused while entries may linger.
 */
final class WorkId {
    static final int CONNECTION_BITS = 22;

    private static final long RECEIVE = 1L << 62;
    private static final int CONNECTION_SHIFT = 40;
    private static final long SEQUENCE_MASK = (1L << CONNECTION_SHIFT) - 1;

    private WorkId() {}

    static long send(int connection, long sequence) {
        return ((long) connection << CONNECTION_SHIFT) | (sequence & SEQUENCE_MASK);
    }

    static long receive(int connection, int slot) {
        return RECEIVE | ((long) connection << CONNECTION_SHIFT) | slot;
    }

    static boolean isReceive(long wrId) {
        return (wrId & RECEIVE) != 0;
    }

    static int connection(long wrId) {
        return (int) (wrId >>> CONNECTION_SHIFT) & ((1 << CONNECTION_BITS) - 1);
    }

    static long sequence(long wrId) {
        return wrId & SEQUENCE_MASK;
    }
}
