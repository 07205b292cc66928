package io.verbena.transport.loopback;

import io.verbena.registration.MemoryRegion;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.Transport;
import io.verbena.transport.TransportException;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;

/** Placeholder until the implementation follows. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class LoopbackTransport implements Transport {
    /** Creates an endpoint. */
    public LoopbackTransport(Supplier<List<MemoryRegion>> regions) {
        throw new UnsupportedOperationException(regions.toString());
    }

    @Override
    public String name() {
        return "loopback";
    }

    @Override
    public byte[] descriptor() {
        throw new UnsupportedOperationException();
    }

    @Override
    public RemoteMemory connect(byte[] descriptor, Duration timeout) throws TransportException {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean unread(int key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ReadLease leaseLocal(int key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
