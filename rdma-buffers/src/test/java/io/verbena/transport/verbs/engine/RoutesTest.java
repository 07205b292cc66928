package io.verbena.transport.verbs.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.DeviceEntry;
import io.verbena.transport.verbs.engine.LocalAddresses.LocalAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RoutesTest {
    private static LocalAddress local(String address, int prefix) throws UnknownHostException {
        return new LocalAddress(InetAddress.getByName(address), "eth0", prefix);
    }

    private static InetSocketAddress remote(String address) throws UnknownHostException {
        return new InetSocketAddress(InetAddress.getByName(address), 7000);
    }

    private static EndpointDescriptor owner(String... addressOfEachDevice) {
        List<DeviceEntry> devices = Arrays.stream(addressOfEachDevice)
                .map(address -> {
                    try {
                        return new DeviceEntry(List.of(remote(address)), List.of());
                    } catch (UnknownHostException e) {
                        throw new AssertionError(e);
                    }
                })
                .toList();
        return new EndpointDescriptor("verbs", "", UUID.randomUUID(), null, List.of(), devices);
    }

    @Test
    void shouldTryACommonSubnetFirst() throws Exception {
        Routes routes = new Routes(List.of(local("10.0.1.5", 24), local("10.0.2.5", 24)));
        for (int i = 0; i < 20; i++) {
            assertThat(routes.to(owner("10.0.9.9", "10.0.2.7")))
                    .containsExactly(
                            new Route(InetAddress.getByName("10.0.2.5"), remote("10.0.2.7"), 1),
                            // Somewhere else: the system's routing table decides.
                            new Route(null, remote("10.0.9.9"), 0));
        }
    }

    @Test
    void shouldLeaveFromTheOnlyAddressOfThatFamily() throws Exception {
        Routes routes = new Routes(List.of(local("10.0.1.5", 32), local("fd01::5", 64)));
        assertThat(routes.to(owner("10.0.9.9")))
                .containsExactly(new Route(InetAddress.getByName("10.0.1.5"), remote("10.0.9.9"), 0));
        assertThat(routes.to(owner("fd01::9")))
                .containsExactly(new Route(InetAddress.getByName("fd01::5"), remote("fd01::9"), 0));
    }

    @Test
    void shouldHaveNoRouteToAnotherFamily() throws Exception {
        assertThat(new Routes(List.of(local("10.0.1.5", 24))).to(owner("fd01::9")))
                .isEmpty();
        assertThat(new Routes(List.of(local("10.0.1.5", 24))).to(owner())).isEmpty();
    }

    @Test
    void shouldCompareSubnetsBitByBit() throws Exception {
        assertThat(local("10.0.1.127", 25).isSameSubnet(InetAddress.getByName("10.0.1.1")))
                .isTrue();
        assertThat(local("10.0.1.127", 25).isSameSubnet(InetAddress.getByName("10.0.1.128")))
                .isFalse();
        assertThat(local("10.0.1.1", 0).isSameSubnet(InetAddress.getByName("1.2.3.4")))
                .isTrue();
        assertThat(local("10.0.1.1", 8).isSameSubnet(InetAddress.getByName("fd01::1")))
                .isFalse();
    }
}
