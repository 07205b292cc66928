package io.verbena.transport.verbs.engine;

import java.nio.ByteBuffer;

/**
 * A connection event, {@code struct rdma_cm_event}; acknowledged already.
 *
 * @param type {@code enum rdma_cm_event_type}
 * @param id of the connection; on CONNECT_REQUEST a new one, owned by the receiver
 * @param status errno, or the peer's reason on REJECTED
 * @param privateData what the peer sent along, possibly padded
 * @param initiatorDepth reads that this side may start
 * @param responderResources reads that the peer may start
 */
record CmEvent(int type, long id, long status, ByteBuffer privateData, int initiatorDepth, int responderResources) {
    static final int ADDRESS_RESOLVED = 0;
    static final int ROUTE_RESOLVED = 2;
    static final int CONNECT_REQUEST = 4;
    static final int REJECTED = 8;
    static final int ESTABLISHED = 9;
    static final int DISCONNECTED = 10;
    static final int DEVICE_REMOVAL = 11;
    static final int ADDRESS_CHANGE = 14;
    static final int TIMEWAIT_EXIT = 15;

    private static final String[] NAMES = {
        "ADDR_RESOLVED",
        "ADDR_ERROR",
        "ROUTE_RESOLVED",
        "ROUTE_ERROR",
        "CONNECT_REQUEST",
        "CONNECT_RESPONSE",
        "CONNECT_ERROR",
        "UNREACHABLE",
        "REJECTED",
        "ESTABLISHED",
        "DISCONNECTED",
        "DEVICE_REMOVAL",
        "MULTICAST_JOIN",
        "MULTICAST_ERROR",
        "ADDR_CHANGE",
        "TIMEWAIT_EXIT"
    };

    @Override
    public String toString() {
        return (type >= 0 && type < NAMES.length ? NAMES[type] : "event " + type) + "(status=" + status + ")";
    }
}
