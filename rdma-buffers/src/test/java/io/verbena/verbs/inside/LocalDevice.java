package io.verbena.verbs.inside;

import com.ibm.disni.verbs.RdmaCmId;
import com.ibm.disni.verbs.RdmaEventChannel;
import com.ibm.disni.verbs.impl.NatRdmaEventChannel;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.function.Predicate;

/** Finds an address of this host that belongs to an RDMA device. */
final class LocalDevice {
    static final short TCP = 0x106;

    private LocalDevice() {}

    static InetAddress ipv4() throws IOException {
        return find("IPv4", Inet4Address.class::isInstance);
    }

    static InetAddress ipv6() throws IOException {
        return find("IPv6", address -> !(address instanceof Inet4Address));
    }

    private static InetAddress find(String family, Predicate<InetAddress> suitable) throws IOException {
        List<InetAddress> addresses = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                // The kernel refuses a link-local address of an interface without a device; the transport leaves them
                // out, too.
                .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                .filter(suitable)
                .toList();
        RdmaEventChannel channel = RdmaEventChannel.createEventChannel();
        long handle = ((NatRdmaEventChannel) channel).getObjId();
        try {
            for (InetAddress address : addresses) {
                long id = VerbsNative.createId(handle);
                try {
                    VerbsNative.bindAddress(id, address.getAddress(), scope(address), 0);
                    if (VerbsNative.context(id) != 0) {
                        return address;
                    }
                } finally {
                    VerbsNative.destroyId(id);
                }
            }
        } finally {
            channel.destroyEventChannel();
        }
        throw new AssertionError("no RDMA device has an address of family=" + family + " among " + addresses);
    }

    static int scope(InetAddress address) {
        return address instanceof Inet6Address v6 ? v6.getScopeId() : 0;
    }

    /** Returns an id that listens on a free port of the address. */
    static RdmaCmId listen(RdmaEventChannel channel, InetAddress address) throws IOException {
        RdmaCmId id = channel.createId(TCP);
        id.bindAddr(new InetSocketAddress(address, 0));
        id.listen(4);
        return id;
    }
}
