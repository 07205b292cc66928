package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.verbs.bound.VerbsNative;
import io.verbena.verbs.fake.FakeVerbs;
import java.io.IOException;
import java.net.InetAddress;

/** Our connection manager calls. */
public final class ConnectionsOnFake extends FakeDevice {
    private static final int CONNECT_REQUEST = 4;
    private static final int REJECTED = 8;
    private static final int DISCONNECTED = 10;

    private final long[] event = new long[VerbsNative.CM_EVENT_VALUES];
    private final byte[] data = new byte[56];

    /** Creates one. */
    public ConnectionsOnFake() throws ReflectiveOperationException, IOException {}

    public void shouldBindAndResolveBothFamilies() throws IOException {
        byte[] ipv6 = InetAddress.getByName("fd00::9:1").getAddress();
        VerbsNative.bindAddress(bareId, ipv6, 3, 65535);
        assertThat(VerbsNative.localAddress(bareId)).isEqualTo(ipv6);
        assertThat(VerbsNative.localPort(bareId)).isEqualTo(65535);
        assertThat(VerbsNative.peerAddress(bareId)).isNull();
        VerbsNative.resolveAddress(bareId, ipv6, ipv6, 3, 4791, 250);
        assertThat(VerbsNative.peerAddress(bareId)).isEqualTo(ipv6);
        VerbsNative.resolveAddress(id, null, IPV4, 0, 80, 1);
        assertThat(VerbsNative.peerAddress(id)).isEqualTo(IPV4);
        VerbsNative.resolveRoute(id, 300);
        assertThat(FakeVerbs.calls()).isEqualTo("""
                        rdma_bind_addr fd00::9:1 port=65535 scope=3
                        rdma_resolve_addr source fd00::9:1 port=0 scope=3
                        rdma_resolve_addr fd00::9:1 port=4791 scope=3
                        rdma_resolve_addr timeout=250
                        rdma_resolve_addr source none port=0 scope=0
                        rdma_resolve_addr 10.0.9.1 port=80 scope=0
                        rdma_resolve_addr timeout=1
                        rdma_resolve_route timeout=300
                        """);
    }

    public void shouldDescribeAnIdWithAndWithoutDevice() {
        assertThat(VerbsNative.localAddress(id)).isEqualTo(IPV4);
        assertThat(VerbsNative.localPort(id)).isEqualTo(4711);
        assertThat(VerbsNative.context(id)).isEqualTo(FakeVerbs.context());
        assertThat(VerbsNative.port(id)).isEqualTo(1);
        assertThat(VerbsNative.localAddress(bareId)).isNull();
        assertThat(VerbsNative.localPort(bareId)).isZero();
        assertThat(VerbsNative.context(bareId)).isZero();
        assertThat(VerbsNative.port(bareId)).isZero();
    }

    public void shouldRefuseWhatIsNoAddress() {
        assertThatThrownBy(() -> VerbsNative.bindAddress(id, new byte[5], 0, 1))
                .hasMessage("address: addressBytes=5, port=1 [EINVAL 22]");
        assertThatThrownBy(() -> VerbsNative.bindAddress(id, IPV4, 0, 65536)).hasMessageContaining("port=65536");
        assertThatThrownBy(() -> VerbsNative.resolveAddress(id, new byte[0], IPV4, 0, 1, 1))
                .hasMessageContaining("addressBytes=0");
        assertThat(FakeVerbs.calls()).isEmpty();
    }

    public void shouldConnectAcceptAndRejectWithPrivateData() throws IOException {
        VerbsNative.connect(id, new byte[] {1, -1}, 3, 7, 16, 255);
        VerbsNative.accept(id, new byte[196], 1, 2, 3);
        VerbsNative.reject(id, new byte[] {9});
        VerbsNative.reject(id, null);
        VerbsNative.disconnect(id);
        assertThat(FakeVerbs.calls())
                .isEqualTo("rdma_connect data=01ff retry=3 rnr=7 depth=16 resources=255\n" + "rdma_accept data="
                        + "00".repeat(196) + " retry=0 rnr=1 depth=2 resources=3\n"
                        + "rdma_reject data=09 retry=0 rnr=0 depth=0 resources=0\n"
                        + "rdma_reject data= retry=0 rnr=0 depth=0 resources=0\n" + "rdma_disconnect\n");
        assertThatThrownBy(() -> VerbsNative.connect(id, new byte[57], 3, 7, 1, 1))
                .hasMessage("rdma_connect: privateDataBytes=57 is more than 56 [EINVAL 22]");
        assertThatThrownBy(() -> VerbsNative.accept(id, new byte[197], 7, 1, 1)).hasMessageContaining("196");
        assertThatThrownBy(() -> VerbsNative.reject(id, new byte[149])).hasMessageContaining("148");
    }

    public void shouldThrowRatherThanCrashOnAnIdWithoutDevice() {
        assertThatThrownBy(() -> VerbsNative.connect(bareId, null, 3, 7, 1, 1))
                .isInstanceOf(IOException.class)
                .hasMessage("rdma_connect: the id is not bound to a device [ENODEV 19]");
        assertThatThrownBy(() -> VerbsNative.accept(bareId, null, 7, 1, 1)).hasMessageContaining("ENODEV");
        assertThatThrownBy(() -> VerbsNative.resolveRoute(bareId, 1)).hasMessageContaining("ENODEV");
        assertThatThrownBy(() -> VerbsNative.disconnect(bareId)).hasMessageContaining("ENODEV");
        assertThatThrownBy(() -> VerbsNative.createQp(bareId, pd, cq, cq, 1, 1, 1, 1, 0, new int[5]))
                .hasMessageContaining("ENODEV");
        VerbsNative.destroyQp(bareId);
        assertThat(FakeVerbs.calls()).isEmpty();
    }

    public void shouldReportFailures() {
        FakeVerbs.script("rdma_connect", -1, 111);
        assertThatThrownBy(() -> VerbsNative.connect(id, null, 3, 7, 1, 1))
                .hasMessage("rdma_connect: Connection refused [ECONNREFUSED 111]");
        FakeVerbs.script("rdma_accept", -1, 22);
        assertThatThrownBy(() -> VerbsNative.accept(id, null, 7, 1, 1)).hasMessageContaining("rdma_accept");
        FakeVerbs.script("rdma_reject", -1, 22);
        assertThatThrownBy(() -> VerbsNative.reject(id, null)).hasMessageContaining("rdma_reject");
        FakeVerbs.script("rdma_listen", -1, 22);
        assertThatThrownBy(() -> VerbsNative.listen(id, 1)).hasMessageContaining("rdma_listen");
        FakeVerbs.script("rdma_create_id", -1, 23);
        assertThatThrownBy(() -> VerbsNative.createId(channel)).hasMessageContaining("[ENFILE 23]");
        FakeVerbs.script("rdma_destroy_id", -1, 16);
        assertThatThrownBy(() -> VerbsNative.destroyId(id)).hasMessageContaining("[EBUSY 16]");
        FakeVerbs.script("rdma_get_cm_event", -1, 5);
        FakeVerbs.cmEvent(channel, DISCONNECTED, id, 0, 0, null, 0, 0);
        assertThatThrownBy(() -> VerbsNative.nextCmEvent(channel, event, data)).hasMessageContaining("[EIO 5]");
        FakeVerbs.script("rdma_get_cm_event", -1, 11);
        assertThat(noEvent()).isTrue();
        assertThat(noEvent()).isFalse();
    }

    private boolean noEvent() {
        try {
            return VerbsNative.nextCmEvent(channel, event, data) == -1;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    public void shouldSetOptions() throws IOException {
        VerbsNative.setTypeOfService(id, 106);
        VerbsNative.setAckTimeout(id, 14);
        assertThat(FakeVerbs.calls()).isEqualTo("""
                        rdma_set_option level=0 option=0 value=106 length=1
                        rdma_set_option level=0 option=3 value=14 length=1
                        """);
        assertThatThrownBy(() -> VerbsNative.setTypeOfService(id, 256))
                .hasMessage("rdma_set_option(TOS): value=256 is not 0..255 [EINVAL 22]");
        FakeVerbs.script("rdma_set_option", -1, 38);
        assertThatThrownBy(() -> VerbsNative.setAckTimeout(id, 1))
                .hasMessage("rdma_set_option(ACK_TIMEOUT): Function not implemented [ENOSYS 38]");
    }

    public void shouldTakeEventsWithStatusAndPrivateData() throws IOException {
        int fd = VerbsNative.cmFd(channel);
        assertThat(VerbsNative.pollFds(new int[] {fd}, 1, 0)).isZero();
        assertThat(VerbsNative.nextCmEvent(channel, event, data)).isEqualTo(-1);
        byte[] sent = new byte[56];
        sent[0] = 1;
        sent[55] = -1;
        FakeVerbs.cmEvent(channel, CONNECT_REQUEST, bareId, id, 0, sent, 16, 8);
        FakeVerbs.cmEvent(channel, REJECTED, id, 0, 28, new byte[148], 0, 0);
        FakeVerbs.cmEvent(channel, DISCONNECTED, id, 0, -104, new byte[] {1}, 5, 5);
        assertThat(VerbsNative.pollFds(new int[] {fd}, 1, -1)).isEqualTo(1);

        assertThat(VerbsNative.nextCmEvent(channel, event, data)).isEqualTo(CONNECT_REQUEST);
        assertThat(event).containsExactly(bareId, id, 0, 56, 16, 8);
        assertThat(data).isEqualTo(sent);
        assertThat(VerbsNative.nextCmEvent(channel, event, data)).isEqualTo(REJECTED);
        assertThat(event).containsExactly(id, 0, 28, 56, 0, 0);
        assertThat(VerbsNative.nextCmEvent(channel, event, data)).isEqualTo(DISCONNECTED);
        assertThat(event).containsExactly(id, 0, -104, 0, 0, 0);
        assertThat(VerbsNative.nextCmEvent(channel, event, data)).isEqualTo(-1);
    }
}
