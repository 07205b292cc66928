package io.verbena.transport.verbs.engine;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** This host's addresses that a peer could use: up, not loopback, not link-local (that needs a scope the peer does not know). */
final class LocalAddresses {
    /**
     * One address.
     *
     * @param interfaceName of the network interface
     * @param prefixLength of its subnet in bits
     */
    record LocalAddress(InetAddress address, String interfaceName, int prefixLength) {
        boolean isSameSubnet(InetAddress other) {
            byte[] mine = address.getAddress();
            byte[] theirs = other.getAddress();
            if (mine.length != theirs.length) {
                return false;
            }
            for (int bit = 0; bit < prefixLength; bit++) {
                int mask = 0x80 >> (bit & 7);
                if ((mine[bit >> 3] & mask) != (theirs[bit >> 3] & mask)) {
                    return false;
                }
            }
            return true;
        }
    }

    private LocalAddresses() {}

    static List<LocalAddress> all() throws IOException {
        List<LocalAddress> found = new ArrayList<>();
        for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (isUsable(network)) {
                for (InterfaceAddress each : network.getInterfaceAddresses()) {
                    InetAddress address = each.getAddress();
                    if (!address.isLinkLocalAddress()
                            && !address.isLoopbackAddress()
                            && !address.isMulticastAddress()) {
                        // Without its scope, which numbers of other hosts do not have either.
                        InetAddress plain = InetAddress.getByAddress(address.getAddress());
                        found.add(new LocalAddress(plain, network.getName(), each.getNetworkPrefixLength()));
                    }
                }
            }
        }
        return found;
    }

    private static boolean isUsable(NetworkInterface network) {
        try {
            return network.isUp() && !network.isLoopback();
        } catch (SocketException e) {
            // It has just gone.
            return false;
        }
    }

    /** Whether a text of the configuration means this address: a number, or the name of its network interface. */
    static boolean matches(String text, LocalAddress address) throws IOException {
        if (text.equals(address.interfaceName())) {
            return true;
        }
        // Only texts that cannot be names: they are never looked up.
        boolean isNumber = text.indexOf(':') >= 0 || text.matches("[0-9.]+");
        return isNumber && InetAddress.getByName(text).equals(address.address());
    }
}
