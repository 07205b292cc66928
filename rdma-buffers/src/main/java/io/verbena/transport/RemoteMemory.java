package io.verbena.transport;

import java.nio.ByteBuffer;
import java.time.Duration;

/**
 * A peer's registered memory, as this process reads it.
 *
 * <p>Threads: any.
 */
public interface RemoteMemory extends AutoCloseable {
    /** Returns {@link Transport#name} of the transport that reads it. */
    String transport();

    /**
     * Takes over the peer's segment table after it has grown or shrunk.
     *
     * @throws TransportException as {@link Transport#connect}; PEER_GONE if the descriptor is another endpoint's. The old table
     *     stays.
     */
    void refresh(byte[] descriptor) throws TransportException;

    /** Returns whether the segment table has this key; if not, a newer descriptor may. */
    boolean knows(int rkey);

    /**
     * Keeps the peer from reusing what the key protects. Counted per process: the peer sees it end when the last holder closes.
     *
     * @throws TransportException TIMEOUT, PEER_GONE or CLOSED
     */
    ReadLease acquireLease(int key, Duration timeout) throws TransportException;

    /** Returns whether {@link #view} and {@link #viewBuffer} work. */
    boolean supportsViews();

    /**
     * Returns where this process sees a range of the peer's memory, read-only: a store there is a SIGSEGV. Valid while a lease
     * taken from this object is held.
     *
     * @param remoteAddress absolute address in the peer
     * @param length in bytes; zero is allowed
     * @throws TransportException REMOTE_ACCESS for an unknown key or a range outside its segment; PEER_GONE or CLOSED
     * @throws UnsupportedOperationException if views are not supported
     */
    long view(long remoteAddress, int rkey, long length) throws TransportException;

    /** As {@link #view}, as a read-only direct buffer in native byte order. */
    ByteBuffer viewBuffer(long remoteAddress, int rkey, int length) throws TransportException;

    /**
     * Copies ranges into leased memory, asynchronously. The destination is posted until just before the listener is called. The
     * listener is called exactly once, on the transport's progress thread, or on the caller's if the transport is closed.
     *
     * @throws IllegalStateException if the destination is not leased; the listener is not called then
     */
    void read(ReadRequest request);

    /** Returns false once the peer is known to be gone. */
    boolean isAlive();

    /** Fails pending reads with CLOSED. Views end when the leases do. */
    @Override
    void close();
}
