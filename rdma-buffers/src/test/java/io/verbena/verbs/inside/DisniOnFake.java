package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ibm.disni.util.NativeAffinity;
import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;
import io.verbena.verbs.fake.FakeVerbs;
import java.io.IOException;

/** DiSNI's natives: what its Java half relies on, and how each fails. */
public final class DisniOnFake extends FakeDevice {
    /** Creates one. */
    public DisniOnFake() throws ReflectiveOperationException, IOException {}

    public void shouldHaveTheLayoutThatJavaWrites() {
        assertThat(disni._getVersion()).isEqualTo(32);
        assertThat(disni._getSockAddrInSize()).isEqualTo(16);
        assertThat(disni._getIbvSendWRSize()).isEqualTo(VerbsNative.SEND_WR_BYTES);
        assertThat(disni._getIbvRecvWRSize()).isEqualTo(VerbsNative.RECV_WR_BYTES);
        assertThat(disni._getIbvSgeSize()).isEqualTo(VerbsNative.SGE_BYTES);
        assertThat(disni._getIbvWCSize()).isEqualTo(48);
        assertThat(disni._getRemoteAddressOffset()).isEqualTo(VerbsNative.SEND_WR_REMOTE_ADDRESS);
        assertThat(disni._getRKeyOffset()).isEqualTo(VerbsNative.SEND_WR_RKEY);
    }

    public void shouldLookUpTheProperties() throws IOException {
        assertThat(disni._getQpNum(qp)).isEqualTo(0xabcdef);
        assertThat(disni._getContextFd(context)).isEqualTo(77);
        assertThat(disni._getContextNumCompVectors(context)).isEqualTo(3);
        assertThat(disni._getPdHandle(pd)).isEqualTo(5);
        assertThat(disni._getContext(id)).isEqualTo(FakeVerbs.context());
        assertThat(disni._getContext(bareId)).isEqualTo(-1);
        assertThat(disni._queryOdpSupport(context)).isNegative();
        assertThat(disni._expPrefetchMr(1, 2, 3)).isNegative();
        assertThat(disni._ackCmEvent(4)).isZero();
    }

    public void shouldWriteAndReadIpv4Addresses() throws IOException {
        assertThat(disni._getSrcAddr(id, scratch)).isZero();
        assertThat(OffHeap.getInt(scratch + 4)).isEqualTo(0x0109000a);
        assertThat(disni._getDstAddr(id, scratch)).isNotZero();

        disni._resolveAddr(bareId, 0, scratch, 250);

        assertThat(FakeVerbs.calls())
                .contains("rdma_resolve_addr source none", "rdma_resolve_addr 10.0.9.1 port=4711", "timeout=250");
        assertThat(disni._getDstAddr(bareId, scratch + 64)).isZero();
        assertThat(OffHeap.getLong(scratch + 64)).isEqualTo(OffHeap.getLong(scratch));
        disni._bindAddr(bareId, scratch);
        disni._listen(bareId, 7);
        disni._resolveRoute(bareId, 99);
        assertThat(FakeVerbs.calls())
                .contains(
                        "rdma_bind_addr 10.0.9.1 port=4711", "rdma_listen backlog=7", "rdma_resolve_route timeout=99");
    }

    public void shouldReportFailuresOfTheConnectionManager() {
        FakeVerbs.script("rdma_create_event_channel", -1, 19);
        assertThatThrownBy(disni::_createEventChannel)
                .isInstanceOf(IOException.class)
                .hasMessage("rdma_create_event_channel: No such device [ENODEV 19]");
        FakeVerbs.script("rdma_create_id", -1, ENOMEM);
        assertThatThrownBy(() -> disni._createId(channel, (short) TCP)).hasMessageContaining("[ENOMEM 12]");
        FakeVerbs.script("rdma_bind_addr", -1, 98);
        assertThatThrownBy(() -> disni._bindAddr(id, sockaddr()))
                .hasMessage("rdma_bind_addr: Address already in use [EADDRINUSE 98]");
        FakeVerbs.script("rdma_listen", -1, EINVAL);
        assertThatThrownBy(() -> disni._listen(id, 1)).hasMessageContaining("rdma_listen");
        FakeVerbs.script("rdma_resolve_addr", -1, 101);
        assertThatThrownBy(() -> disni._resolveAddr(id, 0, sockaddr(), 1)).hasMessageContaining("[ENETUNREACH 101]");
        FakeVerbs.script("rdma_resolve_route", -1, 1234);
        assertThatThrownBy(() -> disni._resolveRoute(id, 1))
                .hasMessage("rdma_resolve_route: Unknown error 1234 [errno 1234]");
        FakeVerbs.script("rdma_destroy_id", -1, EINVAL);
        assertThat(disni._destroyCmId(id)).isNotZero();
    }

    private long sockaddr() {
        assertThat(disni._getSrcAddr(id, scratch)).isZero();
        return scratch;
    }

    public void shouldConnectWithPrivateData() throws IOException {
        OffHeap.putLong(scratch, 0x0807060504030201L);
        disni._connect(id, 3, 15, scratch, (byte) 8);
        assertThat(FakeVerbs.calls())
                .isEqualTo("rdma_connect data=0102030405060708 retry=3 rnr=7 depth=255 resources=255\n");
        disni._connect(id, 0, 0, 0, (byte) 0);
        disni._accept(id, 2, 1);
        assertThat(FakeVerbs.calls())
                .contains("rdma_connect data= retry=0", "rdma_accept data= retry=2 rnr=1 depth=255");
        assertThatThrownBy(() -> disni._connect(id, 3, 7, scratch, (byte) 200))
                .hasMessage("rdma_connect: privateDataBytes=200 is more than 56 [EINVAL 22]");
        FakeVerbs.script("rdma_connect", -1, 111);
        assertThatThrownBy(() -> disni._connect(id, 3, 7, 0, (byte) 0))
                .hasMessage("rdma_connect: Connection refused [ECONNREFUSED 111]");
        FakeVerbs.script("rdma_disconnect", -1, EINVAL);
        assertThat(disni._disconnect(id)).isEqualTo(-1);
        assertThat(disni._disconnect(id)).isZero();
    }

    public void shouldThrowRatherThanCrashOnAnIdWithoutDevice() {
        assertThatThrownBy(() -> disni._connect(bareId, 3, 7, 0, (byte) 0))
                .isInstanceOf(IOException.class)
                .hasMessage("rdma_connect: the id is not bound to a device [ENODEV 19]");
        assertThatThrownBy(() -> disni._accept(bareId, 3, 7)).hasMessageContaining("ENODEV");
        assertThatThrownBy(() -> disni._createQP(bareId, pd, cq, cq, RC, 1, 1, 0))
                .hasMessageContaining("ENODEV");
        assertThat(disni._disconnect(bareId)).isEqualTo(-1);
        assertThat(disni._destroyQP(bareId)).isNotZero();
        assertThat(FakeVerbs.calls()).isEmpty();
    }

    public void shouldTakeCmEvents() {
        assertThat(disni._getCmEvent(channel, scratch, scratch + 8, 0)).isNegative();
        FakeVerbs.cmEvent(channel, 4, id, bareId, 0, null, 0, 0);
        FakeVerbs.cmEvent(channel, 10, id, 0, 0, null, 0, 0);
        assertThat(disni._getCmEvent(channel, scratch, scratch + 8, 1000)).isEqualTo(4);
        assertThat(OffHeap.getLong(scratch)).isEqualTo(bareId);
        assertThat(OffHeap.getLong(scratch + 8)).isEqualTo(id);
        FakeVerbs.script("rdma_get_cm_event", -1, 5);
        assertThat(disni._getCmEvent(channel, scratch, scratch + 8, -1)).isNegative();
        assertThat(disni._getCmEvent(channel, scratch, scratch + 8, -1)).isEqualTo(10);
        assertThat(OffHeap.getLong(scratch)).isEqualTo(-1);
    }

    public void shouldCreateQueuePairsWithinTheDevicesLimits() throws IOException {
        assertThat(disni._destroyQP(id)).isZero();
        disni._createQP(id, pd, cq, cq, RC, 100, 50, 16);
        assertThat(FakeVerbs.calls())
                .isEqualTo("rdma_create_qp send=100 recv=50 sendSge=2 recvSge=2 inline=16 type=2 all=0\n");
        disni._destroyQP(id);
        FakeVerbs.script("rdma_create_qp", -1, ENOMEM);
        assertThatThrownBy(() -> disni._createQP(id, pd, cq, cq, RC, 1, 1, 0))
                .hasMessage("rdma_create_qp: Cannot allocate memory [ENOMEM 12]");
        FakeVerbs.script("ibv_query_device", 5, 0);
        assertThatThrownBy(() -> disni._createQP(id, pd, cq, cq, RC, 1, 1, 0)).hasMessageContaining("[EIO 5]");
        assertThatThrownBy(() -> disni._createQP(id, pd, cq, cq, 4, 1, 1, 0)).hasMessageContaining("type=4");
        assertThatThrownBy(() -> disni._modifyQP(qp, 0)).isInstanceOf(IOException.class);
    }

    public void shouldDestroyTheQueuePairWithItsEndpoint() throws IOException {
        long other = VerbsNative.createId(channel);
        VerbsNative.bindAddress(other, IPV4, 0, 1);
        disni._createQP(other, pd, cq, cq, RC, 1, 1, 0);
        int before = FakeVerbs.live();
        assertThat(disni._destroyEp(other)).isZero();
        assertThat(FakeVerbs.live()).isEqualTo(before - 2);
    }

    public void shouldReportFailuresOfCreation() {
        FakeVerbs.script("ibv_alloc_pd", -1, ENOMEM);
        assertThatThrownBy(() -> disni._allocPd(context))
                .hasMessage("ibv_alloc_pd: Cannot allocate memory [ENOMEM 12]");
        FakeVerbs.script("ibv_create_comp_channel", -1, 24);
        assertThatThrownBy(() -> disni._createCompChannel(context)).hasMessageContaining("[EMFILE 24]");
        FakeVerbs.script("ibv_create_cq", -1, EINVAL);
        assertThatThrownBy(() -> disni._createCQ(context, compChannel, 1 << 30, 2))
                .hasMessageContaining("[EINVAL 22]");
        assertThat(FakeVerbs.calls()).contains("ibv_create_cq entries=1073741824 vector=2");
        FakeVerbs.script("ibv_dealloc_pd", 16, 0);
        assertThat(disni._deallocPd(pd)).isEqualTo(16);
        FakeVerbs.script("ibv_destroy_cq", 16, 0);
        assertThat(disni._destroyCQ(cq)).isEqualTo(16);
    }

    public void shouldRegisterMemory() throws IOException {
        long mr = disni._regMr(pd, scratch, 4096, 7, scratch, scratch + 4, scratch + 8);
        assertThat(mr).isPositive();
        assertThat(OffHeap.getInt(scratch)).isEqualTo(0x80000001);
        assertThat(OffHeap.getInt(scratch + 4)).isEqualTo(0x2002);
        assertThat(OffHeap.getInt(scratch + 8)).isEqualTo(3);
        FakeVerbs.script("ibv_dereg_mr", 16, 0);
        assertThatThrownBy(() -> disni._deregMr(mr)).hasMessage("ibv_dereg_mr: Device or resource busy [EBUSY 16]");
        disni._deregMr(mr);
        FakeVerbs.script("ibv_reg_mr", -1, ENOMEM);
        assertThatThrownBy(() -> disni._regMr(pd, scratch, 4096, 7, scratch, scratch + 4, scratch + 8))
                .hasMessage("ibv_reg_mr: Cannot allocate memory [ENOMEM 12]");
        assertThatThrownBy(() -> disni._regMr(pd, scratch, -1, 7, scratch, scratch + 4, scratch + 8))
                .hasMessage("ibv_reg_mr: lengthBytes=-1 [EINVAL 22]");
        assertThat(FakeVerbs.calls()).doesNotContain("length=18446744073709551615");
    }

    public void shouldPostAndReportDriversNegativeCodes() throws IOException {
        disni._postSend(qp, sendList(2));
        disni._postRecv(qp, recvList(2));
        assertThat(FakeVerbs.calls()).contains("ibv_post_send id=2 opcode=4 flags=2", "ibv_post_recv id=2");
        FakeVerbs.acceptOnly(1, -EINVAL);
        assertThatThrownBy(() -> disni._postSend(qp, sendList(2)))
                .isInstanceOf(IOException.class)
                .hasMessage("ibv_post_send: Invalid argument [EINVAL 22]");
        FakeVerbs.acceptOnly(0, ENOMEM);
        assertThatThrownBy(() -> disni._postRecv(qp, recvList(1)))
                .hasMessage("ibv_post_recv: Cannot allocate memory [ENOMEM 12]");
    }

    public void shouldPollWholeCompletions() throws IOException {
        FakeVerbs.complete(0x1122334455667788L, 10, 2, 0x88, 4096, 0x1a2, 1);
        FakeVerbs.complete(2, 0, 2, 0, 1, 0x1a2, 0);
        assertThat(disni._pollCQ(cq, 1, scratch)).isEqualTo(1);
        assertThat(OffHeap.getLong(scratch)).isEqualTo(0x1122334455667788L);
        assertThat(OffHeap.getInt(scratch + 8)).isEqualTo(10);
        assertThat(OffHeap.getInt(scratch + 28)).isEqualTo(0x1a2);
        assertThat(disni._pollCQ(cq, 16, scratch)).isEqualTo(1);
        assertThat(disni._pollCQ(cq, 16, scratch)).isZero();
        FakeVerbs.failPoll(-2);
        assertThat(disni._pollCQ(cq, 16, scratch)).isNegative();
        FakeVerbs.script("ibv_req_notify_cq", EINVAL, 0);
        assertThat(disni._reqNotifyCQ(cq, 1)).isNotZero();
        assertThat(disni._reqNotifyCQ(cq, 0)).isZero();
        assertThat(FakeVerbs.calls()).contains("solicited=1", "solicited=0");
    }

    public void shouldTakeCompletionEventsAndAcknowledgeThemLater() throws IOException {
        assertThat(disni._getCqEvent(compChannel, 0)).isNegative();
        FakeVerbs.cqEvent(compChannel, cq);
        int before = FakeVerbs.live();
        assertThat(disni._getCqEvent(compChannel, 1000)).isNotNegative();
        assertThat(FakeVerbs.live()).isEqualTo(before + 1);
        assertThat(disni._ackCqEvent(cq, 1)).isZero();
        FakeVerbs.cqEvent(compChannel, cq);
        FakeVerbs.script("ibv_get_cq_event", -1, 5);
        assertThat(disni._getCqEvent(compChannel, 1000)).isNegative();
    }

    public void shouldSetTheAffinityOfTheThread() {
        long before = NativeAffinity.getAffinity();
        assertThat(before).isNotZero();
        NativeAffinity.setAffinity(Long.lowestOneBit(before));
        assertThat(NativeAffinity.getAffinity()).isEqualTo(Long.lowestOneBit(before));
        NativeAffinity.setAffinity(before);
        assertThat(NativeAffinity.getAffinity()).isEqualTo(before);
    }
}
