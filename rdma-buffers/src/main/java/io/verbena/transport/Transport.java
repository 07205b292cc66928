package io.verbena.transport;

import java.time.Duration;

/**
 * One endpoint: it serves the regions of this process to peers and reads theirs.
 *
 * <p>Leases: a reader acquires a lease on a key, then looks up where the memory is, then reads. The owner first withdraws what
 * the key protects, so that no new reader can find it, then reuses the memory once {@link #unread} says true.
 * <p>Ownership: close every {@link RemoteMemory} before the transport. Threads: any.
 */
public interface Transport extends AutoCloseable {
    /** Returns the kind, for logs and metrics. */
    String name();

    /**
     * Returns what a peer needs to connect and the current segment table, in the layout of {@link EndpointDescriptor}: magic,
     * version, body and CRC32C.
     */
    byte[] descriptor();

    /**
     * Connects to the peer that made the descriptor.
     *
     * @throws TransportException NOT_REACHABLE, VERSION_MISMATCH, CORRUPT_DESCRIPTOR, TIMEOUT or CLOSED
     */
    RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException;

    /**
     * Serving side: returns true when no reader, remote or local, holds a lease on the key now. Call it after withdrawing what
     * the key protects. Does not wait.
     */
    boolean unread(int key);

    /** Leases the owner's own memory for reading in this process. */
    ReadLease leaseLocal(int key);

    /** Fails pending reads with CLOSED and ends the progress thread. Peers see this endpoint as gone. */
    @Override
    void close();
}
