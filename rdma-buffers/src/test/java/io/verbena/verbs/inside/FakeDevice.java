package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.impl.NativeDispatcher;
import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;
import io.verbena.verbs.fake.FakeVerbs;
import java.io.IOException;
import java.lang.reflect.Constructor;

/** One of everything on the fake device, made through DiSNI's natives; closing it checks that nothing is left alive. */
abstract class FakeDevice implements AutoCloseable {
    static final int RC = 2;
    static final int TCP = 0x106;
    static final int ENOMEM = 12;
    static final int EINVAL = 22;
    static final byte[] IPV4 = {10, 0, 9, 1};

    final NativeDispatcher disni;
    final long scratch = OffHeap.allocate(4096);
    final long channel;
    /** Bound to the device. */
    final long id;
    /** Without a device. */
    final long bareId;

    final long context;
    final long pd;
    final long compChannel;
    final long cq;
    final long qp;

    FakeDevice() throws ReflectiveOperationException, IOException {
        FakeVerbs.reset();
        assertThat(FakeVerbs.live()).isZero();
        Constructor<NativeDispatcher> constructor = NativeDispatcher.class.getDeclaredConstructor();
        constructor.setAccessible(true);
        disni = constructor.newInstance();
        channel = disni._createEventChannel();
        id = disni._createId(channel, (short) TCP);
        bareId = VerbsNative.createId(channel);
        VerbsNative.bindAddress(id, IPV4, 0, 4711);
        context = disni._getContext(id);
        pd = disni._allocPd(context);
        compChannel = disni._createCompChannel(context);
        cq = disni._createCQ(context, compChannel, 64, 0);
        qp = disni._createQP(id, pd, cq, cq, RC, 100, 50, 0);
        FakeVerbs.calls();
    }

    /** Returns the address of a list of send work requests, RDMA Reads without SGE, numbered from 1. */
    final long sendList(int count) {
        OffHeap.zero(scratch, 4096);
        for (int index = 0; index < count; index++) {
            long wr = scratch + (long) index * VerbsNative.SEND_WR_BYTES;
            boolean last = index == count - 1;
            OffHeap.putLong(wr + VerbsNative.SEND_WR_ID, index + 1);
            OffHeap.putLong(wr + VerbsNative.SEND_WR_NEXT, last ? 0 : wr + VerbsNative.SEND_WR_BYTES);
            OffHeap.putInt(wr + VerbsNative.SEND_WR_OPCODE, 4);
            OffHeap.putInt(wr + VerbsNative.SEND_WR_FLAGS, last ? 2 : 0);
        }
        return scratch;
    }

    /** Returns the address of a list of receive work requests without SGE, numbered from 1. */
    final long recvList(int count) {
        OffHeap.zero(scratch, 4096);
        for (int index = 0; index < count; index++) {
            long wr = scratch + (long) index * VerbsNative.RECV_WR_BYTES;
            OffHeap.putLong(wr + VerbsNative.RECV_WR_ID, index + 1);
            OffHeap.putLong(wr + VerbsNative.RECV_WR_NEXT, index == count - 1 ? 0 : wr + VerbsNative.RECV_WR_BYTES);
        }
        return scratch;
    }

    @Override
    public void close() throws IOException {
        FakeVerbs.reset();
        VerbsNative.destroyQp(id);
        assertThat(disni._destroyCQ(cq)).isZero();
        assertThat(disni._destroyCompChannel(compChannel)).isZero();
        assertThat(disni._deallocPd(pd)).isZero();
        assertThat(disni._destroyCmId(id)).isZero();
        VerbsNative.destroyId(bareId);
        assertThat(disni._destroyEventChannel(channel)).isZero();
        OffHeap.free(scratch);
        assertThat(FakeVerbs.live()).isZero();
    }
}
