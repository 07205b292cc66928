package io.verbena.transport.ways;

import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import java.time.Duration;

/** A name and a descriptor; connecting fails as it was told, keys are read as it was told. */
public final class FixedTransport implements Transport {
    private final String name;
    private final byte[] descriptor;
    TransportException.Reason refusal = TransportException.Reason.NOT_REACHABLE;
    boolean unread = true;
    boolean closed;
    Duration lastTimeout;

    public FixedTransport(String name, byte[] descriptor) {
        this.name = name;
        this.descriptor = descriptor.clone();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public byte[] descriptor() {
        return descriptor.clone();
    }

    @Override
    public RemoteMemory connect(byte[] theirs, Duration timeout) throws TransportException {
        lastTimeout = timeout;
        throw new TransportException(refusal, name + " does not lead there");
    }

    @Override
    public boolean unread(int key) {
        return unread;
    }

    @Override
    public ReadLease leaseLocal(int key) {
        throw new UnsupportedOperationException("nothing is leased here");
    }

    @Override
    public void close() {
        closed = true;
    }
}
