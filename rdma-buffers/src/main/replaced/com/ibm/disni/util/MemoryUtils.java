package com.ibm.disni.util;

import io.verbena.memory.OffHeap;
import java.nio.ByteBuffer;

/**
 * Takes the place of DiSNI's class of this name, which casts to a type of java.base that is not exported and so needs JVM flags.
 * Compiled into the folder of the jar from which only the library's class loader reads.
 */
public final class MemoryUtils {
    private MemoryUtils() {}

    /** Returns the address of a direct buffer's index 0. */
    public static long getAddress(ByteBuffer buffer) {
        return OffHeap.addressOf(buffer);
    }
}
