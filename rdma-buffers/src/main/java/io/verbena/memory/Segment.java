package io.verbena.memory;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One run of off-heap memory of fixed size, page aligned, at most {@link #MAX_BYTES}.
 *
 * <p>Ownership: the {@link SegmentBacking} that allocated it frees it, or the {@link FileMapping} that made it; its address and every buffer over it are dead after that.
 * <p>Threads: immutable.
 */
public final class Segment {
    /** 1 GiB: a verbs memory region's length is an int in the bindings, and every offset must fit an int. */
    public static final long MAX_BYTES = 1L << 30;

    private final int id;
    private final long address;
    private final long length;
    private final SegmentFile file;
    private final ByteBuffer whole;
    private final SegmentBacking origin;
    private final long allocation;

    /**
     * @param whole the buffer that keeps the memory alive, index 0 = first byte of the segment
     * @param origin the backing that frees it, null for a mapping
     * @param allocation what the origin needs to free it, for example the unaligned address
     */
    Segment(int id, ByteBuffer whole, SegmentFile file, SegmentBacking origin, long allocation) {
        this.id = id;
        this.address = OffHeap.addressOf(whole);
        this.length = whole.capacity();
        this.file = file;
        this.whole = whole;
        this.origin = origin;
        this.allocation = allocation;
    }

    /** Returns the ordinal, never reused in this process; negative for a {@link FileMapping}. */
    public int id() {
        return id;
    }

    /** Returns the absolute address of the first byte. */
    public long address() {
        return address;
    }

    /** Returns the size in bytes. */
    public long length() {
        return length;
    }

    /** Returns the file behind it, or null when the backing cannot be shared with neighbours. */
    public SegmentFile file() {
        return file;
    }

    /** Returns a fresh duplicate over the whole segment, in the native byte order. */
    public ByteBuffer buffer() {
        return whole.duplicate().order(ByteOrder.nativeOrder());
    }

    ByteBuffer whole() {
        return whole;
    }

    SegmentBacking origin() {
        return origin;
    }

    long allocation() {
        return allocation;
    }

    @Override
    public String toString() {
        return "segment id=" + id + ", address=0x" + Long.toHexString(address) + ", lengthBytes=" + length + ", file="
                + (file == null ? "none" : file.path());
    }
}
