package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvMr;
import io.verbena.memory.OffHeap;
import io.verbena.registration.RegistrationCost;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;

/** Measures what a device's registrations cost, in a few milliseconds. Threads: stateless. */
final class RegistrationProbe {
    /** Large enough that the cost of pages dominates, small enough for any limit under which the device is of use. */
    private static final int LARGE_BYTES = 4 << 20;

    /** The best of so many: anything else that runs only adds time. */
    private static final int ROUNDS = 3;

    private RegistrationProbe() {}

    /** @throws IOException if the device does not register even that much */
    static RegistrationCost measure(long pd) throws IOException {
        long memory = OffHeap.allocate(2L * LARGE_BYTES);
        try {
            // Touched: what is registered in earnest is too.
            OffHeap.zero(memory, 2L * LARGE_BYTES);
            long smallNs = Long.MAX_VALUE;
            long largeNs = Long.MAX_VALUE;
            long copyNs = Long.MAX_VALUE;
            for (int i = 0; i < ROUNDS; i++) {
                smallNs = Math.min(smallNs, registrationNs(pd, memory, RegistrationCost.PAGE_BYTES));
                largeNs = Math.min(largeNs, registrationNs(pd, memory, LARGE_BYTES));
                long startNs = System.nanoTime();
                OffHeap.copy(null, memory, null, memory + LARGE_BYTES, LARGE_BYTES);
                copyNs = Math.min(copyNs, System.nanoTime() - startNs);
            }
            return RegistrationCost.through(1, smallNs, LARGE_BYTES / RegistrationCost.PAGE_BYTES, largeNs, copyNs);
        } finally {
            OffHeap.free(memory);
        }
    }

    private static long registrationNs(long pd, long address, int length) throws IOException {
        long[] mr = new long[VerbsFileRegistrar.MR_VALUES];
        long startNs = System.nanoTime();
        VerbsNative.registerMemory(pd, address, length, IbvMr.IBV_ACCESS_REMOTE_READ, mr);
        VerbsNative.deregisterMemory(mr[0]);
        return System.nanoTime() - startNs;
    }
}
