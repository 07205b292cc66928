package io.verbena.memory;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Raw access to off-heap memory by absolute address, in the native byte order.
 *
 * <p>No call checks bounds: the caller holds a lease on the memory and has compared its range with the lease. Everything that
 * comes from a peer is checked before it reaches an address here.
 *
 * <p>Why method handles: {@code sun.misc.Unsafe} is supported API of the module jdk.unsupported, but naming it in source gives
 * a compiler warning that cannot be switched off under {@code --release}. Constant handles compile to the same instructions.
 *
 * <p>Threads: stateless; plain (not volatile) memory order.
 */
public final class OffHeap {
    /** Offset of the first element of a {@code byte[]} for {@link #copy}, in bytes. */
    public static final long BYTE_ARRAY_OFFSET;

    /** Largest single copy, so that a safepoint is never delayed by more than about 0.1 ms (Spark's Platform uses the same). */
    private static final long COPY_CHUNK = 1L << 20;

    private static final MethodHandle GET_BYTE;
    private static final MethodHandle GET_BYTE_OF;
    private static final MethodHandle PUT_BYTE;
    private static final MethodHandle GET_INT;
    private static final MethodHandle GET_INT_OF;
    private static final MethodHandle PUT_INT;
    private static final MethodHandle GET_LONG;
    private static final MethodHandle GET_LONG_OF;
    private static final MethodHandle PUT_LONG;
    private static final MethodHandle COPY;
    private static final MethodHandle SET;
    private static final MethodHandle ALLOCATE;
    private static final MethodHandle FREE;
    private static final MethodHandle PUT_LONG_OF;
    private static final MethodHandle PUT_INT_OF;
    private static final MethodHandle INVOKE_CLEANER;
    private static final long BUFFER_ADDRESS;
    private static final long BUFFER_CAPACITY;
    private static final ByteBuffer EMPTY = ByteBuffer.allocateDirect(0);

    static {
        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Object unsafe = field.get(null);
            Binder bind = new Binder(unsafe);
            GET_BYTE = bind.to("getByte", byte.class, long.class);
            GET_BYTE_OF = bind.to("getByte", byte.class, Object.class, long.class);
            PUT_BYTE = bind.to("putByte", void.class, long.class, byte.class);
            GET_INT = bind.to("getInt", int.class, long.class);
            GET_INT_OF = bind.to("getInt", int.class, Object.class, long.class);
            PUT_INT = bind.to("putInt", void.class, long.class, int.class);
            GET_LONG = bind.to("getLong", long.class, long.class);
            GET_LONG_OF = bind.to("getLong", long.class, Object.class, long.class);
            PUT_LONG = bind.to("putLong", void.class, long.class, long.class);
            COPY = bind.to("copyMemory", void.class, Object.class, long.class, Object.class, long.class, long.class);
            SET = bind.to("setMemory", void.class, long.class, long.class, byte.class);
            ALLOCATE = bind.to("allocateMemory", long.class, long.class);
            FREE = bind.to("freeMemory", void.class, long.class);
            BYTE_ARRAY_OFFSET = type.getField("ARRAY_BYTE_BASE_OFFSET").getInt(null);
            PUT_LONG_OF = bind.to("putLong", void.class, Object.class, long.class, long.class);
            PUT_INT_OF = bind.to("putInt", void.class, Object.class, long.class, int.class);
            INVOKE_CLEANER = bind.to("invokeCleaner", void.class, ByteBuffer.class);
            MethodHandle offset = bind.to("objectFieldOffset", long.class, Field.class);
            BUFFER_ADDRESS = (long) offset.invokeExact(Buffer.class.getDeclaredField("address"));
            BUFFER_CAPACITY = (long) offset.invokeExact(Buffer.class.getDeclaredField("capacity"));
        } catch (Throwable e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private OffHeap() {}

    /**
     * Returns the absolute address of a direct buffer's first byte (index 0, whatever its position).
     *
     * @throws IllegalArgumentException if the buffer is on the heap
     */
    public static long addressOf(ByteBuffer direct) {
        if (!direct.isDirect()) {
            throw new IllegalArgumentException("buffer is not direct: " + direct);
        }
        try {
            return (long) GET_LONG_OF.invokeExact((Object) direct, BUFFER_ADDRESS);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /**
     * Returns a direct buffer over memory that somebody else owns; it does not keep the memory alive. (JNI's NewDirectByteBuffer
     * without JNI: the fields of a duplicate are pointed at the memory.)
     *
     * @param length in bytes
     */
    public static ByteBuffer wrap(long address, int length) {
        ByteBuffer view = EMPTY.duplicate();
        try {
            PUT_LONG_OF.invokeExact((Object) view, BUFFER_ADDRESS, address);
            PUT_INT_OF.invokeExact((Object) view, BUFFER_CAPACITY, length);
        } catch (Throwable e) {
            throw rethrow(e);
        }
        view.clear();
        return view.order(ByteOrder.nativeOrder());
    }

    /**
     * Unmaps a buffer that {@link java.nio.channels.FileChannel#map} returned, now rather than when it is collected. Every
     * duplicate and slice of it is dead afterwards: an access is a SIGSEGV.
     *
     * @throws IllegalArgumentException if the buffer is a duplicate or a slice
     */
    public static void unmap(ByteBuffer mapped) {
        try {
            INVOKE_CLEANER.invokeExact(mapped);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Reads one byte. */
    public static byte getByte(long address) {
        try {
            return (byte) GET_BYTE.invokeExact(address);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Writes one byte. */
    public static void putByte(long address, byte value) {
        try {
            PUT_BYTE.invokeExact(address, value);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Reads four bytes; any alignment. */
    public static int getInt(long address) {
        try {
            return (int) GET_INT.invokeExact(address);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Writes four bytes; any alignment. */
    public static void putInt(long address, int value) {
        try {
            PUT_INT.invokeExact(address, value);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Reads eight bytes; any alignment. */
    public static long getLong(long address) {
        try {
            return (long) GET_LONG.invokeExact(address);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Reads one byte; base and offset as in {@link #copy}. */
    public static byte getByte(Object base, long offset) {
        try {
            return (byte) GET_BYTE_OF.invokeExact(base, offset);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Reads four bytes; base and offset as in {@link #copy}, any alignment. */
    public static int getInt(Object base, long offset) {
        try {
            return (int) GET_INT_OF.invokeExact(base, offset);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Reads eight bytes; base and offset as in {@link #copy}, any alignment. */
    public static long getLong(Object base, long offset) {
        try {
            return (long) GET_LONG_OF.invokeExact(base, offset);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Writes eight bytes; any alignment. */
    public static void putLong(long address, long value) {
        try {
            PUT_LONG.invokeExact(address, value);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /**
     * Copies {@code length} bytes. A {@code null} base means the offset is an absolute address; otherwise the base is an array
     * and the offset counts from its start ({@link #BYTE_ARRAY_OFFSET} for a {@code byte[]}).
     */
    public static void copy(Object srcBase, long srcOffset, Object dstBase, long dstOffset, long length) {
        try {
            long done = 0;
            while (done < length) {
                long chunk = Math.min(length - done, COPY_CHUNK);
                COPY.invokeExact(srcBase, srcOffset + done, dstBase, dstOffset + done, chunk);
                done += chunk;
            }
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Sets {@code length} bytes from {@code address} to zero. */
    public static void zero(long address, long length) {
        try {
            SET.invokeExact(address, length, (byte) 0);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /**
     * Allocates plain native memory; the caller frees it with {@link #free}.
     *
     * @param bytes how much, at least 1
     * @return the address, never 0
     * @throws OutOfMemoryError if the process cannot have that much
     */
    public static long allocate(long bytes) {
        try {
            return (long) ALLOCATE.invokeExact(bytes);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** Frees what {@link #allocate} returned, once. */
    public static void free(long address) {
        try {
            FREE.invokeExact(address);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    /** The handles above declare Throwable but raise only unchecked errors. */
    private static RuntimeException rethrow(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        if (e instanceof RuntimeException unchecked) {
            return unchecked;
        }
        return new IllegalStateException(e);
    }

    private record Binder(Object unsafe) {
        MethodHandle to(String name, Class<?> result, Class<?>... parameters) throws ReflectiveOperationException {
            return MethodHandles.lookup().bind(unsafe, name, MethodType.methodType(result, parameters));
        }
    }
}
