package io.verbena.verbs.bound;

import java.io.IOException;
import java.nio.charset.Charset;

/**
 * The calls of libibverbs, librdmacm and Linux that DiSNI lacks, on DiSNI's handles: raw addresses of the ibv_ and rdma_
 * structures. Handles are not checked; a stale one crashes the JVM, as in C.
 *
 * <p>Errors: {@link IOException} with {@code function: text [NAME errno]}, for instance {@code ibv_reg_mr: Cannot allocate memory
 * [ENOMEM 12]}. Methods that do not declare it cannot fail or say so in their result.
 * <p>Threads: any; no Java lock is taken. Only {@link #pollFds} and the calls into the driver block.
 * <p>Ownership: arrays and memory passed in belong to the caller again when the call returns, except work requests' buffers.
 */
public final class VerbsNative {
    /** Device attributes of {@link #queryDevice}, by index; names as in struct ibv_device_attr. Bytes, at most Long.MAX_VALUE. */
    public static final int DEVICE_MAX_MR_SIZE = 0;
    /** Count. */
    public static final int DEVICE_MAX_MR = 1;
    /** Count. */
    public static final int DEVICE_MAX_QP = 2;
    /** Work requests per queue. */
    public static final int DEVICE_MAX_QP_WR = 3;
    /** Scatter-gather entries per work request. */
    public static final int DEVICE_MAX_SGE = 4;
    /** Scatter-gather entries per RDMA Read. */
    public static final int DEVICE_MAX_SGE_RD = 5;
    /** Count. */
    public static final int DEVICE_MAX_CQ = 6;
    /** Entries per CQ. */
    public static final int DEVICE_MAX_CQE = 7;
    /** Count. */
    public static final int DEVICE_MAX_PD = 8;
    /** RDMA Reads that a QP serves at a time, as responder. */
    public static final int DEVICE_MAX_QP_RD_ATOM = 9;
    /** RDMA Reads that a QP has under way at a time, as initiator. */
    public static final int DEVICE_MAX_QP_INIT_RD_ATOM = 10;
    /** Physical ports; they are numbered from 1. */
    public static final int DEVICE_PORTS = 11;
    /** Bit mask of page sizes in bytes. */
    public static final int DEVICE_PAGE_SIZE_CAP = 12;
    /** IEEE vendor number. */
    public static final int DEVICE_VENDOR_ID = 13;
    /** Length of the array of {@link #queryDevice}. */
    public static final int DEVICE_VALUES = 14;

    /** Port attributes of {@link #queryPort}, by index; names as in struct ibv_port_attr. {@link #PORT_STATE_ACTIVE} or another. */
    public static final int PORT_STATE = 0;
    /** Bytes. */
    public static final int PORT_MAX_MTU = 1;
    /** Bytes. */
    public static final int PORT_ACTIVE_MTU = 2;
    /** Bytes. */
    public static final int PORT_MAX_MSG_SIZE = 3;
    /** Local identifier; 0 on Ethernet. */
    public static final int PORT_LID = 4;
    /** {@link #LINK_LAYER_INFINIBAND} or {@link #LINK_LAYER_ETHERNET}; 0 is unspecified (iWARP and old drivers). */
    public static final int PORT_LINK_LAYER = 5;
    /** Length of the GID table. */
    public static final int PORT_GID_COUNT = 6;
    /** Code of the speed of a lane, enum of the InfiniBand specification. */
    public static final int PORT_SPEED = 7;
    /** Code of the number of lanes, enum of the InfiniBand specification. */
    public static final int PORT_WIDTH = 8;
    /** Length of the array of {@link #queryPort}. */
    public static final int PORT_VALUES = 9;
    /** IBV_PORT_ACTIVE. */
    public static final int PORT_STATE_ACTIVE = 4;
    /** IBV_LINK_LAYER_INFINIBAND. */
    public static final int LINK_LAYER_INFINIBAND = 1;
    /** IBV_LINK_LAYER_ETHERNET. */
    public static final int LINK_LAYER_ETHERNET = 2;

    /** Size and field offsets in bytes of struct ibv_send_wr; the C compiler checks them on each architecture. */
    public static final int SEND_WR_BYTES = 128;
    /** u64. */
    public static final int SEND_WR_ID = 0;
    /** Address of the next work request, 0 in the last. */
    public static final int SEND_WR_NEXT = 8;
    /** Address of the first SGE. */
    public static final int SEND_WR_SG_LIST = 16;
    /** i32. */
    public static final int SEND_WR_NUM_SGE = 24;
    /** i32, enum ibv_wr_opcode. */
    public static final int SEND_WR_OPCODE = 28;
    /** u32, enum ibv_send_flags. */
    public static final int SEND_WR_FLAGS = 32;
    /** u64. */
    public static final int SEND_WR_REMOTE_ADDRESS = 40;
    /** u32. */
    public static final int SEND_WR_RKEY = 48;

    /** Size and field offsets in bytes of struct ibv_recv_wr. */
    public static final int RECV_WR_BYTES = 32;
    /** u64. */
    public static final int RECV_WR_ID = 0;
    /** Address of the next work request, 0 in the last. */
    public static final int RECV_WR_NEXT = 8;
    /** Address of the first SGE. */
    public static final int RECV_WR_SG_LIST = 16;
    /** i32. */
    public static final int RECV_WR_NUM_SGE = 24;

    /** Size and field offsets in bytes of struct ibv_sge. */
    public static final int SGE_BYTES = 16;
    /** u64. */
    public static final int SGE_ADDRESS = 0;
    /** u32, bytes. */
    public static final int SGE_LENGTH = 8;
    /** u32. */
    public static final int SGE_LKEY = 12;

    /** Size and field offsets in bytes of a completion that {@link #pollCq} writes; our own layout. */
    public static final int WC_BYTES = 32;
    /** u64. */
    public static final int WC_WR_ID = 0;
    /** i32, enum ibv_wc_status; 0 is success. Of the rest only wrId, vendor error and QP number are valid if it is not. */
    public static final int WC_STATUS = 8;
    /** i32, enum ibv_wc_opcode. */
    public static final int WC_OPCODE = 12;
    /** u32. */
    public static final int WC_VENDOR_ERROR = 16;
    /** u32. */
    public static final int WC_BYTE_LENGTH = 20;
    /** u32. */
    public static final int WC_QP_NUMBER = 24;
    /** u32, enum ibv_wc_flags. */
    public static final int WC_FLAGS = 28;

    /** Bytes of private data that a connection request can carry over RC. */
    public static final int REQUEST_PRIVATE_BYTES = 56;
    /** Bytes of private data of an acceptance. */
    public static final int REPLY_PRIVATE_BYTES = 196;
    /** Bytes of private data of a rejection. */
    public static final int REJECT_PRIVATE_BYTES = 148;
    /** A depth that asks librdmacm for the device's maximum: RDMA_MAX_INIT_DEPTH, RDMA_MAX_RESP_RES. */
    public static final int MAX_DEPTH = 255;
    /** Length of the array of {@link #nextCmEvent}. */
    public static final int CM_EVENT_VALUES = 6;
    /** Most descriptors of {@link #pollFds}: one bit of its result each. */
    public static final int MAX_POLL_FDS = 31;

    private static final String IBVERBS = "libibverbs.so.1";
    private static final String RDMACM = "librdmacm.so.1";
    /** What Java's own file names are encoded in. */
    private static final Charset NATIVE_ENCODING = Charset.forName(System.getProperty("native.encoding"));

    static {
        System.loadLibrary("verbena");
    }

    private VerbsNative() {}

    // ---- the library

    /** Returns the hash of the sources that libverbena was built from. */
    public static native String buildHash();

    /** Returns the hash of the sources of libdisni. Throws UnsatisfiedLinkError if it is not ours, or not loaded. */
    public static native String disniBuildHash();

    /**
     * Opens libibverbs and librdmacm and looks their functions up; must succeed before any other call but those on memory,
     * limits and waiting. Returns null, or the reason why not: the dynamic linker's text. May be called again.
     */
    public static String open() {
        return openNamed(IBVERBS, RDMACM);
    }

    static native String openNamed(String ibverbsFile, String rdmacmFile);

    /** Returns sizeof(struct ibv_send_wr). */
    public static native int sendWrBytes();

    /** Returns sizeof(struct ibv_recv_wr). */
    public static native int recvWrBytes();

    /** Returns sizeof(struct ibv_sge). */
    public static native int sgeBytes();

    // ---- devices

    /** Returns the names of the RDMA devices, perhaps none. Fails with ENOSYS where the kernel has no RDMA. */
    public static native String[] deviceNames() throws IOException;

    /** Returns the name of a context's device. */
    public static native String deviceName(long context);

    /** Fills {@code out} ({@link #DEVICE_VALUES} long). */
    public static native void queryDevice(long context, long[] out) throws IOException;

    /** Fills {@code out} ({@link #PORT_VALUES} long) for a port, numbered from 1. */
    public static native void queryPort(long context, int port, long[] out) throws IOException;

    /** Returns the 16 bytes of a port's GID. */
    public static native byte[] queryGid(long context, int port, int index) throws IOException;

    /** Returns the descriptor of asynchronous events, made non-blocking. */
    public static native int asyncFd(long context) throws IOException;

    /**
     * Takes one asynchronous event if there is one, and acknowledges it. {@code out} is then {event type, handle of the QP or CQ
     * or number of the port or 0}. The handle may have been destroyed meanwhile: compare it, do not use it.
     */
    public static native boolean nextAsyncEvent(long context, long[] out) throws IOException;

    // ---- connection manager

    /** Returns the descriptor of an event channel, made non-blocking. */
    public static native int cmFd(long channel) throws IOException;

    /** Returns a new id in the RC port space (RDMA_PS_TCP). */
    public static native long createId(long channel) throws IOException;

    /** Binds to an address of 4 or 16 bytes; {@code scopeId} is for IPv6 link-local ones, port 0 is any. */
    public static native void bindAddress(long id, byte[] address, int scopeId, int port) throws IOException;

    /** Starts resolution to ADDR_RESOLVED or ADDR_ERROR; a null source lets routing choose. */
    public static native void resolveAddress(
            long id, byte[] sourceOrNull, byte[] destination, int scopeId, int port, int timeoutMs) throws IOException;

    /** Starts resolution to ROUTE_RESOLVED or ROUTE_ERROR; fails with ENODEV on an id without device. */
    public static native void resolveRoute(long id, int timeoutMs) throws IOException;

    /** Returns the local port, 0 if the id is not bound. */
    public static native int localPort(long id);

    /** Returns the local address in 4 or 16 bytes, null if there is none. */
    public static native byte[] localAddress(long id);

    /** Returns the peer's address in 4 or 16 bytes, null if there is none. */
    public static native byte[] peerAddress(long id);

    /** Returns the verbs context, 0 if the id has no device yet (a wildcard listener never has). */
    public static native long context(long id);

    /** Returns the port of the device, 0 if the id has none yet. */
    public static native int port(long id);

    /** Starts listening. */
    public static native void listen(long id, int backlog) throws IOException;

    /**
     * Requests a connection; the outcome is an event, or on iWARP at once an exception. Fails with ENODEV on an id without device.
     *
     * @param privateData at most {@link #REQUEST_PRIVATE_BYTES}, null is none
     * @param retry 0 to 7; some devices take 7 as endless
     * @param rnrRetry 0 to 7; 7 is endless
     * @param initiatorDepth RDMA Reads from here under way at a time, or {@link #MAX_DEPTH}
     * @param responderResources RDMA Reads to here served at a time, or {@link #MAX_DEPTH}
     */
    public static native void connect(
            long id, byte[] privateData, int retry, int rnrRetry, int initiatorDepth, int responderResources)
            throws IOException;

    /** Accepts a request, as {@link #connect}; at most {@link #REPLY_PRIVATE_BYTES} of private data. */
    public static native void accept(
            long id, byte[] privateData, int rnrRetry, int initiatorDepth, int responderResources) throws IOException;

    /** Rejects a request; at most {@link #REJECT_PRIVATE_BYTES} of private data, null is none. */
    public static native void reject(long id, byte[] privateData) throws IOException;

    /** Disconnects, which flushes the QP. */
    public static native void disconnect(long id) throws IOException;

    /** Destroys an id; its QP must be destroyed before, and blocks until its events are acknowledged. */
    public static native void destroyId(long id) throws IOException;

    /** Sets the traffic class, before the address is resolved. */
    public static native void setTypeOfService(long id, int tos) throws IOException;

    /** Sets the QP's ACK timeout to 4.096 us times 2 to the exponent, before connecting. */
    public static native void setAckTimeout(long id, int exponent) throws IOException;

    /**
     * Takes one event if there is one and acknowledges it: returns its type (enum rdma_cm_event_type), or -1 if there is none.
     *
     * @param out {@link #CM_EVENT_VALUES} long: {id, listening id or 0, status, bytes of private data copied, initiator depth,
     *     responder resources}. The depths are this side's, as accept wants them: what the peer gave, exchanged. A
     *     CONNECT_REQUEST's id is new and the caller's
     * @param privateData receives the private data, cut at its length. The wire pads it: a request brings all 56 bytes
     */
    public static native int nextCmEvent(long channel, long[] out, byte[] privateData) throws IOException;

    // ---- QPs and CQs

    /**
     * Creates the RC QP of an id that has a device; completions of sends come only for signalled ones.
     *
     * @param actual receives what was granted: {maxSend, maxRecv, maxSendSge, maxRecvSge, maxInline}
     * @return the QP
     */
    public static native long createQp(
            long id,
            long pd,
            long sendCq,
            long recvCq,
            int maxSend,
            int maxRecv,
            int maxSendSge,
            int maxRecvSge,
            int maxInline,
            int[] actual)
            throws IOException;

    /**
     * Destroys the QP of an id, if it has one. Returns 0, or the errno value if the device still has it: memory that was posted
     * must not be reused then.
     */
    public static native int destroyQp(long id);

    /** Returns the QP number, 24 bits. */
    public static native int qpNumber(long qp);

    /** Returns enum ibv_qp_state: 0 RESET, 1 INIT, 2 RTR, 3 RTS, 4 SQD, 5 SQE, 6 ERR. */
    public static native int qpState(long qp) throws IOException;

    /** Moves the QP to ERR: what is posted completes with WR_FLUSH_ERR. */
    public static native void moveToError(long qp) throws IOException;

    /**
     * Posts a list of {@code count} struct ibv_send_wr to the send queue and returns how many were accepted, {@code count} if all.
     * For fewer see {@link #lastPostError}. A driver may still drop accepted ones without a completion (soft-iWARP).
     */
    public static native int postSend(long qp, long firstWr, int count);

    /** Posts a list of struct ibv_recv_wr to the receive queue, as {@link #postSend}. */
    public static native int postRecv(long qp, long firstWr, int count);

    /** Returns the errno value of this thread's last post that accepted fewer than all. */
    public static native int lastPostError();

    /**
     * Polls up to {@code max} completions into records of {@link #WC_BYTES} at {@code buffer}. Returns how many; a negative number
     * is the driver's failure code.
     */
    public static native int pollCq(long cq, long buffer, int max);

    /** Arms the CQ for one event at its next completion, solicited or not. */
    public static native void requestNotify(long cq) throws IOException;

    /**
     * Takes and acknowledges up to {@code max} events of a completion channel that {@link #compFd} has made non-blocking. Returns
     * how many, or a negative errno value if the first could not be taken.
     *
     * @param max a CQ makes one event each time it is armed; not asking for more spares the call that finds none
     */
    public static native int takeCqEvents(long channel, int max);

    /** Returns the descriptor of a completion channel, made non-blocking. */
    public static native int compFd(long channel) throws IOException;

    // ---- memory

    /** Registers memory; {@code out} (3 long) becomes {handle, lkey, rkey}. Optional access flags are dropped if unknown. */
    public static native void registerMemory(long pd, long address, long length, int access, long[] out)
            throws IOException;

    /** Deregisters an MR. */
    public static native void deregisterMemory(long handle) throws IOException;

    /** madvise(MADV_POPULATE_READ or _WRITE): returns 0 or the errno value, EINVAL before Linux 5.14. */
    public static native int populate(long address, long length, boolean write);

    /** madvise(MADV_HUGEPAGE): returns 0 or the errno value. */
    public static native int adviseHugePages(long address, long length);

    /**
     * Creates an anonymous file of length 0: returns its descriptor, or a negative errno value.
     *
     * @param hugePageLog2 binary logarithm of the huge page size in bytes, 0 is the default size; only with {@code hugetlb}
     */
    public static int createMemfd(String name, boolean hugetlb, int hugePageLog2) {
        return createMemfdNamed(name.getBytes(NATIVE_ENCODING), hugetlb, hugePageLog2);
    }

    private static native int createMemfdNamed(byte[] name, boolean hugetlb, int hugePageLog2);

    /** ftruncate. */
    public static native void setLength(int fd, long length) throws IOException;

    /** Maps a part of a file, shared; returns its address. */
    public static native long map(int fd, long offset, long length, boolean write) throws IOException;

    /** Unmaps. */
    public static native void unmap(long address, long length) throws IOException;

    /** Opens a file for reading, or for both; returns its descriptor. */
    public static int openFile(String path, boolean write) throws IOException {
        try {
            return openPath(path.getBytes(NATIVE_ENCODING), write);
        } catch (IOException e) {
            throw new IOException("cannot open path=" + path + ", write=" + write + ": " + e.getMessage(), e);
        }
    }

    private static native int openPath(byte[] path, boolean write) throws IOException;

    /** Closes a descriptor. */
    public static native void closeFd(int fd);

    /** Returns the page size in bytes. */
    public static native long pageSize();

    /** Returns the soft RLIMIT_MEMLOCK in bytes, -1 if unlimited. */
    public static native long memlockLimit();

    /** Returns whether the calling thread has CAP_IPC_LOCK, which lifts that limit on most drivers. */
    public static native boolean hasIpcLock();

    // ---- waiting

    /** Returns a new eventfd, non-blocking; {@link #closeFd} frees it. */
    public static native int eventFd() throws IOException;

    /** Makes an eventfd readable. */
    public static native void signal(int fd);

    /** Makes an eventfd unreadable. */
    public static native void clear(int fd);

    /**
     * Waits until a descriptor is readable or has an error: bit i of the result is for {@code fds[i]}, 0 is a timeout. Signals do
     * not end it early, and Thread.interrupt does not wake it.
     *
     * @param count how many of {@code fds}, at most {@link #MAX_POLL_FDS}
     * @param timeoutMs milliseconds; -1 waits without limit
     */
    public static native int pollFds(int[] fds, int count, int timeoutMs) throws IOException;
}
