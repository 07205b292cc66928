package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.impl.NatRdmaEventChannel;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Arrays;

/** Our natives on a real device: what is known about it, both address families, private data in both directions. */
public final class ConnectionsOnDevice implements AutoCloseable {
    private static final int DEADLINE_MS = 10_000;
    private static final int ADDR_RESOLVED = 0;
    private static final int ROUTE_RESOLVED = 2;
    private static final int CONNECT_REQUEST = 4;
    private static final int REJECTED = 8;
    /** IB_CM_REJ_CONSUMER_DEFINED. */
    private static final int CONSUMER = 28;

    private final RdmaEventChannel events = RdmaEventChannel.createEventChannel();
    private final long channel = ((NatRdmaEventChannel) events).getObjId();
    private final long listener = VerbsNative.createId(channel);
    private final long client = VerbsNative.createId(channel);
    private final long[] event = new long[VerbsNative.CM_EVENT_VALUES];
    private final byte[] data = new byte[256];

    /** Creates one. */
    public ConnectionsOnDevice() throws IOException {}

    public void shouldDescribeDeviceAndPort() throws IOException {
        InetAddress address = LocalDevice.ipv4();
        VerbsNative.bindAddress(listener, address.getAddress(), 0, 0);
        long context = VerbsNative.context(listener);
        long[] device = new long[VerbsNative.DEVICE_VALUES];
        long[] port = new long[VerbsNative.PORT_VALUES];
        VerbsNative.queryDevice(context, device);
        VerbsNative.queryPort(context, VerbsNative.port(listener), port);

        assertThat(VerbsNative.deviceNames()).contains(VerbsNative.deviceName(context));
        assertThat(device).doesNotContain(-1);
        assertThat(device[VerbsNative.DEVICE_MAX_QP_WR]).isPositive();
        assertThat(device[VerbsNative.DEVICE_MAX_CQE]).isPositive();
        assertThat(device[VerbsNative.DEVICE_MAX_QP_INIT_RD_ATOM]).isPositive();
        assertThat(device[VerbsNative.DEVICE_PORTS]).isEqualTo(1);
        assertThat(port[VerbsNative.PORT_STATE]).isEqualTo(VerbsNative.PORT_STATE_ACTIVE);
        assertThat(port[VerbsNative.PORT_LINK_LAYER]).isEqualTo(VerbsNative.LINK_LAYER_ETHERNET);
        assertThat(port[VerbsNative.PORT_ACTIVE_MTU]).isBetween(256L, port[VerbsNative.PORT_MAX_MTU]);
        assertThat(gids(context, (int) port[VerbsNative.PORT_GID_COUNT])).contains(mapped(address));
        assertThat(VerbsNative.nextAsyncEvent(context, new long[2])).isFalse();
        assertThatThrownBy(() -> VerbsNative.queryPort(context, 9, port)).hasMessageContaining("[EINVAL 22]");
    }

    private static String gids(long context, int count) throws IOException {
        StringBuilder all = new StringBuilder();
        for (int index = 0; index < Math.min(count, 16); index++) {
            all.append(Arrays.toString(VerbsNative.queryGid(context, 1, index)));
        }
        return all.toString();
    }

    /** A RoCE GID of an IPv4 address is the address mapped into IPv6. */
    private static String mapped(InetAddress ipv4) {
        byte[] gid = new byte[16];
        gid[10] = -1;
        gid[11] = -1;
        System.arraycopy(ipv4.getAddress(), 0, gid, 12, 4);
        return Arrays.toString(gid);
    }

    public void shouldCarryPrivateDataOverIpv4() throws IOException {
        connectAndReject(LocalDevice.ipv4());
    }

    public void shouldCarryPrivateDataOverIpv6() throws IOException {
        connectAndReject(LocalDevice.ipv6());
    }

    private void connectAndReject(InetAddress address) throws IOException {
        VerbsNative.bindAddress(listener, address.getAddress(), LocalDevice.scope(address), 0);
        VerbsNative.listen(listener, 1);
        int port = VerbsNative.localPort(listener);
        assertThat(port).isPositive();
        VerbsNative.resolveAddress(
                client, address.getAddress(), address.getAddress(), LocalDevice.scope(address), port, DEADLINE_MS);
        expect(ADDR_RESOLVED);
        VerbsNative.resolveRoute(client, DEADLINE_MS);
        expect(ROUTE_RESOLVED);
        assertThat(VerbsNative.peerAddress(client)).isEqualTo(address.getAddress());
        byte[] request = new byte[VerbsNative.REQUEST_PRIVATE_BYTES];
        for (int index = 0; index < request.length; index++) {
            request[index] = (byte) (index + 1);
        }
        createQp();
        VerbsNative.connect(client, request, 3, 7, 16, 8);

        expect(CONNECT_REQUEST);
        long accepted = event[0];
        assertThat(event[1]).isEqualTo(listener);
        assertThat(event[3]).isEqualTo(request.length);
        assertThat(event[4]).as("reads from here, which the peer serves").isEqualTo(8);
        assertThat(event[5]).as("reads to here").isEqualTo(16);
        assertThat(Arrays.copyOf(data, request.length)).isEqualTo(request);
        assertThat(VerbsNative.peerAddress(accepted)).isEqualTo(address.getAddress());
        VerbsNative.reject(accepted, new byte[] {42, 43});

        expect(REJECTED);
        assertThat(event[0]).isEqualTo(client);
        assertThat(event[2]).isEqualTo(CONSUMER);
        assertThat(Arrays.copyOf(data, 2)).containsExactly(42, 43);
        VerbsNative.destroyId(accepted);
        VerbsNative.destroyQp(client);
    }

    /** librdmacm wants a QP for a connection; it makes its own CQs and PD where it is given none. */
    private void createQp() throws IOException {
        int[] granted = new int[5];
        long qp = VerbsNative.createQp(client, 0, 0, 0, 8, 8, 1, 1, 0, granted);
        assertThat(VerbsNative.qpState(qp)).isBetween(0, 1);
        assertThat(granted[0]).isGreaterThanOrEqualTo(8);
    }

    private void expect(int type) throws IOException {
        int[] fds = {VerbsNative.cmFd(channel)};
        assertThat(VerbsNative.pollFds(fds, 1, DEADLINE_MS))
                .as("event of type %d", type)
                .isEqualTo(1);
        assertThat(VerbsNative.nextCmEvent(channel, event, data))
                .as("status=%d", event[2])
                .isEqualTo(type);
        assertThat(event[2] == 0 || type == REJECTED).as("status=%d", event[2]).isTrue();
    }

    @Override
    public void close() throws IOException {
        VerbsNative.destroyQp(client);
        VerbsNative.destroyId(client);
        VerbsNative.destroyId(listener);
        events.destroyEventChannel();
    }
}
