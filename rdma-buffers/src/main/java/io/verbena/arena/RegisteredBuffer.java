package io.verbena.arena;

import io.verbena.registration.MemoryRegion;
import java.nio.ByteBuffer;

/** A lease of registered memory. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class RegisteredBuffer {
    RegisteredBuffer() {}

    /** Returns the absolute address. */
    public long address() {
        throw new UnsupportedOperationException();
    }

    /** Returns the bytes available. */
    public long capacity() {
        throw new UnsupportedOperationException();
    }

    /** Returns the segment's id. */
    public int segmentId() {
        throw new UnsupportedOperationException();
    }

    /** Returns the offset in the segment, in bytes. */
    public long offset() {
        throw new UnsupportedOperationException();
    }

    /** Returns the region. */
    public MemoryRegion region() {
        throw new UnsupportedOperationException();
    }

    /** Returns a fresh direct view of exactly this extent, native order. */
    public ByteBuffer buffer() {
        throw new UnsupportedOperationException();
    }

    /** Gives the tail back at once. */
    public void shrink(long newCapacity) {
        throw new UnsupportedOperationException("" + newCapacity);
    }

    /** LEASED to POSTED. */
    public void markPosted() {
        throw new UnsupportedOperationException();
    }

    /** POSTED to LEASED. */
    public void markCompleted() {
        throw new UnsupportedOperationException();
    }

    /** LEASED to FREE. */
    public void release() {
        throw new UnsupportedOperationException();
    }
}
