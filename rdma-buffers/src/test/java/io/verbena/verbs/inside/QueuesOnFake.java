package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;
import io.verbena.verbs.fake.FakeVerbs;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** Our QP, CQ, device and registration calls. */
public final class QueuesOnFake extends FakeDevice {
    private static final int STATE_INIT = 1;
    private static final int STATE_ERROR = 6;
    private static final int OPTIONAL_RELAXED_ORDERING = 1 << 20;

    /** Creates one. */
    public QueuesOnFake() throws ReflectiveOperationException, IOException {}

    public void shouldCreateQueuePairsAndTellWhatWasGranted() throws IOException {
        VerbsNative.destroyQp(id);
        int[] granted = new int[5];
        long created = VerbsNative.createQp(id, pd, cq, cq, 256, 4, 3, 1, 64, granted);
        assertThat(granted).containsExactly(511, 4, 3, 1, 64);
        assertThat(VerbsNative.qpNumber(created)).isEqualTo(0xabcdef);
        assertThat(FakeVerbs.calls())
                .isEqualTo("rdma_create_qp send=256 recv=4 sendSge=3 recvSge=1 inline=64 type=2 all=0\n");
    }

    public void shouldKeepAQueuePairThatTheDeviceDoesNotLetGo() {
        FakeVerbs.script("ibv_destroy_qp", EINVAL, 0);
        assertThat(VerbsNative.destroyQp(id)).isEqualTo(EINVAL);
        assertThat(VerbsNative.destroyQp(id)).isZero();
        assertThat(VerbsNative.destroyQp(id)).isZero();
    }

    public void shouldMoveToErrorAndReadTheState() throws IOException {
        assertThat(VerbsNative.qpState(qp)).isEqualTo(STATE_INIT);
        VerbsNative.moveToError(qp);
        assertThat(VerbsNative.qpState(qp)).isEqualTo(STATE_ERROR);
        assertThat(FakeVerbs.calls()).isEqualTo("ibv_modify_qp state=6 mask=1\n");
        FakeVerbs.script("ibv_modify_qp", -1, EINVAL);
        assertThatThrownBy(() -> VerbsNative.moveToError(qp))
                .hasMessage("ibv_modify_qp(ERR): Invalid argument [EINVAL 22]");
        FakeVerbs.script("ibv_query_qp", 5, 0);
        assertThatThrownBy(() -> VerbsNative.qpState(qp)).hasMessageContaining("[EIO 5]");
    }

    public void shouldPostWhatJavaWrote() {
        long wr = sendList(1);
        long sge = wr + VerbsNative.SEND_WR_BYTES;
        OffHeap.putLong(wr + VerbsNative.SEND_WR_SG_LIST, sge);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_NUM_SGE, 1);
        OffHeap.putLong(wr + VerbsNative.SEND_WR_REMOTE_ADDRESS, 0x7f0012345678L);
        OffHeap.putInt(wr + VerbsNative.SEND_WR_RKEY, 0x80001234);
        OffHeap.putLong(sge + VerbsNative.SGE_ADDRESS, 0x7f00aaaabbbbL);
        OffHeap.putInt(sge + VerbsNative.SGE_LENGTH, 65536);
        OffHeap.putInt(sge + VerbsNative.SGE_LKEY, 0x77);
        assertThat(VerbsNative.postSend(qp, wr, 1)).isEqualTo(1);
        assertThat(FakeVerbs.calls()).isEqualTo("""
                        ibv_post_send id=1 opcode=4 flags=2 remote=7f0012345678 rkey=80001234
                          sge=7f00aaaabbbb+65536 lkey=77
                        """);
    }

    public void shouldCountWhatWasAccepted() throws Exception {
        assertThat(VerbsNative.postSend(qp, sendList(5), 5)).isEqualTo(5);
        assertThat(VerbsNative.postRecv(qp, recvList(5), 5)).isEqualTo(5);
        FakeVerbs.acceptOnly(3, ENOMEM);
        assertThat(VerbsNative.postSend(qp, sendList(5), 5)).isEqualTo(3);
        assertThat(VerbsNative.lastPostError()).isEqualTo(ENOMEM);
        FakeVerbs.acceptOnly(0, -EINVAL);
        assertThat(VerbsNative.postSend(qp, sendList(5), 5)).isZero();
        assertThat(VerbsNative.lastPostError()).isEqualTo(EINVAL);
        FakeVerbs.acceptOnly(4, -ENOMEM);
        assertThat(VerbsNative.postRecv(qp, recvList(5), 5)).isEqualTo(4);
        assertThat(VerbsNative.lastPostError()).isEqualTo(ENOMEM);
        // A driver that names no bad work request has accepted none.
        FakeVerbs.acceptOnly(-2, EINVAL);
        assertThat(VerbsNative.postSend(qp, sendList(5), 5)).isZero();
        assertThat(CompletableFuture.supplyAsync(VerbsNative::lastPostError).get())
                .as("another thread's")
                .isZero();
    }

    public void shouldPollCompactCompletions() {
        FakeVerbs.complete(0x1122334455667788L, 12, 2, 0x81, -1, 0xfffffe, 3);
        assertThat(VerbsNative.pollCq(cq, scratch, 16)).isEqualTo(1);
        assertThat(OffHeap.getLong(scratch + VerbsNative.WC_WR_ID)).isEqualTo(0x1122334455667788L);
        assertThat(OffHeap.getInt(scratch + VerbsNative.WC_STATUS)).isEqualTo(12);
        assertThat(OffHeap.getInt(scratch + VerbsNative.WC_OPCODE)).isEqualTo(2);
        assertThat(OffHeap.getInt(scratch + VerbsNative.WC_VENDOR_ERROR)).isEqualTo(0x81);
        assertThat(OffHeap.getInt(scratch + VerbsNative.WC_BYTE_LENGTH)).isEqualTo(-1);
        assertThat(OffHeap.getInt(scratch + VerbsNative.WC_QP_NUMBER)).isEqualTo(0xfffffe);
        assertThat(OffHeap.getInt(scratch + VerbsNative.WC_FLAGS)).isEqualTo(3);
        assertThat(VerbsNative.pollCq(cq, scratch, 16)).isZero();
    }

    public void shouldPollNoMoreThanAskedFor() {
        complete(100);
        assertThat(VerbsNative.pollCq(cq, scratch, 0)).isZero();
        assertThat(VerbsNative.pollCq(cq, scratch, 33)).isEqualTo(33);
        assertThat(OffHeap.getLong(scratch + 32L * VerbsNative.WC_BYTES)).isEqualTo(33);
        assertThat(VerbsNative.pollCq(cq, scratch, 100)).isEqualTo(67);
        assertThat(OffHeap.getLong(scratch + 66L * VerbsNative.WC_BYTES)).isEqualTo(100);
    }

    public void shouldNotLoseCompletionsToAFailedPoll() {
        complete(32);
        FakeVerbs.failPoll(-5);
        assertThat(VerbsNative.pollCq(cq, scratch, 64)).isEqualTo(32);
        assertThat(VerbsNative.pollCq(cq, scratch, 64)).isEqualTo(-5);
    }

    private static void complete(int count) {
        for (int index = 1; index <= count; index++) {
            FakeVerbs.complete(index, 0, 2, 0, 0, 1, 0);
        }
    }

    public void shouldTakeCompletionEvents() throws IOException {
        int fd = VerbsNative.compFd(compChannel);
        assertThat(VerbsNative.takeCqEvents(compChannel, 2)).isZero();
        FakeVerbs.cqEvent(compChannel, cq);
        FakeVerbs.cqEvent(compChannel, cq);
        FakeVerbs.cqEvent(compChannel, cq);
        assertThat(VerbsNative.pollFds(new int[] {fd}, 1, 1000)).isEqualTo(1);
        assertThat(VerbsNative.takeCqEvents(compChannel, 2)).isEqualTo(2);
        assertThat(VerbsNative.takeCqEvents(compChannel, 2)).isEqualTo(1);
        FakeVerbs.cqEvent(compChannel, cq);
        FakeVerbs.script("ibv_get_cq_event", -1, 5);
        assertThat(VerbsNative.takeCqEvents(compChannel, 2)).isEqualTo(-5);
        VerbsNative.requestNotify(cq);
        assertThat(FakeVerbs.calls()).isEqualTo("ibv_req_notify_cq solicited=0\n");
        FakeVerbs.script("ibv_req_notify_cq", -ENOMEM, 0);
        assertThatThrownBy(() -> VerbsNative.requestNotify(cq))
                .hasMessage("ibv_req_notify_cq: Cannot allocate memory [ENOMEM 12]");
    }

    public void shouldRegisterMoreThanTwoGiB() throws IOException {
        long[] mr = new long[3];
        VerbsNative.registerMemory(pd, 1L << 30, 5L << 30, 5, mr);
        assertThat(mr[0]).isPositive();
        assertThat((int) mr[1]).isEqualTo(0x80000001);
        assertThat((int) mr[2]).isEqualTo(0x2002);
        VerbsNative.deregisterMemory(mr[0]);
        VerbsNative.registerMemory(pd, 4096, 4096, OPTIONAL_RELAXED_ORDERING | 1, mr);
        VerbsNative.deregisterMemory(mr[0]);
        assertThat(FakeVerbs.calls())
                .isEqualTo("ibv_reg_mr length=5368709120 access=5\nibv_reg_mr_iova2 length=4096 access=100001\n");
        FakeVerbs.script("ibv_reg_mr", -1, 14);
        assertThatThrownBy(() -> VerbsNative.registerMemory(pd, 4096, 4096, 1, mr))
                .hasMessage("ibv_reg_mr: Bad address [EFAULT 14]");
        assertThatThrownBy(() -> VerbsNative.registerMemory(pd, 4096, -1, 1, mr))
                .hasMessageContaining("lengthBytes=-1");
    }

    public void shouldDescribeTheDevice() throws IOException {
        assertThat(VerbsNative.deviceNames()).containsExactly("fake0");
        assertThat(VerbsNative.deviceName(context)).isEqualTo("fake0");
        long[] device = new long[VerbsNative.DEVICE_VALUES];
        VerbsNative.queryDevice(context, device);
        assertThat(device).containsExactly(1L << 40, 15, 11, 12, 2, 1, 13, 14, 16, 128, 256, 2, 0xfffff000L, 0x2c9);
        long[] port = new long[VerbsNative.PORT_VALUES];
        VerbsNative.queryPort(context, 1, port);
        assertThat(port).containsExactly(4, 4096, 1024, 1L << 31, 9, 2, 64, 32, 2);
        assertThat(VerbsNative.queryGid(context, 1, 3)).hasSize(16).startsWith(4, 20, 36);
        assertThatThrownBy(() -> VerbsNative.queryPort(context, 9, port))
                .hasMessage("ibv_query_port: Invalid argument [EINVAL 22]");
        assertThatThrownBy(() -> VerbsNative.queryDevice(context, new long[1]))
                .isInstanceOf(ArrayIndexOutOfBoundsException.class);
        FakeVerbs.script("ibv_query_gid", -1, 61);
        assertThatThrownBy(() -> VerbsNative.queryGid(context, 1, 0)).hasMessageContaining("[ENODATA 61]");
        FakeVerbs.script("ibv_get_device_list", -1, 38);
        assertThatThrownBy(VerbsNative::deviceNames)
                .hasMessage("ibv_get_device_list: Function not implemented [ENOSYS 38]");
    }

    public void shouldTakeAsynchronousEvents() throws IOException {
        long[] event = new long[2];
        int fd = VerbsNative.asyncFd(context);
        assertThat(VerbsNative.nextAsyncEvent(context, event)).isFalse();
        FakeVerbs.asyncEvent(10, 2);
        assertThat(VerbsNative.pollFds(new int[] {fd}, 1, 1000)).isEqualTo(1);
        assertThat(VerbsNative.nextAsyncEvent(context, event)).isTrue();
        assertThat(event).as("port error").containsExactly(10, 2);
        FakeVerbs.asyncEvent(0, cq);
        assertThat(VerbsNative.nextAsyncEvent(context, event)).isTrue();
        assertThat(event).as("CQ error").containsExactly(0, cq);
        FakeVerbs.asyncEvent(1, qp);
        assertThat(VerbsNative.nextAsyncEvent(context, event)).isTrue();
        assertThat(event).as("QP fatal").containsExactly(1, qp);
        FakeVerbs.asyncEvent(8, 0);
        assertThat(VerbsNative.nextAsyncEvent(context, event)).isTrue();
        assertThat(event).as("device fatal").containsExactly(8, 0);
        assertThat(VerbsNative.nextAsyncEvent(context, event)).isFalse();
    }
}
