package io.verbena.it.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.guest.GuestHost;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The guest is what the other tests take it for. */
@Tag("guest")
@Timeout(value = 90, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GuestHostTest {
    private static String run(String script) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("timeout", "60", "bash", "-c", script)
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as("%s: %s", script, output).isZero();
        return output;
    }

    /** Runs a client against a server of one connection; the client is repeated until the server listens. */
    private static String run(String server, String client) throws IOException, InterruptedException {
        return run(server + " & trap 'kill $! 2>/dev/null' EXIT; for i in {1..50}; do " + client
                + " && exit 0; sleep 0.2; done; exit 1");
    }

    @ParameterizedTest
    @EnumSource
    void shouldHaveAnActivePortWithAGidPerAddress(GuestHost host) throws Exception {
        assertThat(run("ibv_devinfo -d " + host.deviceName()))
                .contains("PORT_ACTIVE")
                .containsPattern("active_mtu:\\s+4096");
        assertThat(host.gidIndex(host.address4())).isNotEqualTo(host.gidIndex(host.address6()));
    }

    @ParameterizedTest
    @EnumSource
    void shouldReadFromTheOtherHost(GuestHost host) throws Exception {
        for (String address : new String[] {host.address4(), host.address6()}) {
            long packets = packets(host);
            String client = "timeout 20 rping -c -a " + address + " -I "
                    + (address.contains(":")
                            ? host.peer().address6()
                            : host.peer().address4()) + " -C 3 -v";
            assertThat(run("rping -s -C 3 -a " + address + " & sleep 1; " + client + " && wait $!"))
                    .contains("ping data: rdma-ping-2");
            assertThat(packets(host))
                    .as("packets that host %s has received", host)
                    .isGreaterThan(packets + 9);
        }
    }

    private static long packets(GuestHost host) throws IOException, InterruptedException {
        return Long.parseLong(run("cat /sys/class/net/" + host.interfaceName() + "/statistics/rx_packets")
                .strip());
    }

    @Test
    void shouldReadFastEnoughForTests() throws Exception {
        String common = "ib_read_bw -e -F -s 65536 -n 200 -d ";
        String server = common + GuestHost.B.deviceName() + " -x " + GuestHost.B.gidIndex(GuestHost.B.address4());
        String client = common + GuestHost.A.deviceName() + " -x " + GuestHost.A.gidIndex(GuestHost.A.address4()) + " "
                + GuestHost.B.address4();
        assertThat(run(server, client)).containsPattern("65536 +200 +\\d+");
    }

    @ParameterizedTest
    @EnumSource
    void shouldLoseAndRegainTheLink(GuestHost host) throws Exception {
        host.unplug();
        try {
            assertThat(host.isActive()).isFalse();
            assertThat(host.peer().isActive()).isTrue();
        } finally {
            host.plug();
        }
        assertThat(host.isActive()).isTrue();
        assertThat(run("timeout 5 bash -c '</dev/tcp/" + host.peer().address4() + "/9' 2>&1 || true"))
                .contains("refused");
    }

    @Test
    void shouldDropWhatTheSwitchDoesNotForward() throws Exception {
        GuestHost.stopSwitch();
        try {
            assertThat(GuestHost.A.isActive()).isTrue();
            assertThat(run("timeout 2 bash -c '</dev/tcp/" + GuestHost.B.address4() + "/9' 2>&1 || echo $?"))
                    .contains("124");
        } finally {
            GuestHost.startSwitch();
        }
    }

    @Test
    void shouldLoseAndRegainTheDevice() throws Exception {
        GuestHost.B.removeDevice();
        try {
            assertThat(GuestHost.B.isActive()).isFalse();
        } finally {
            GuestHost.B.addDevice();
        }
        shouldHaveAnActivePortWithAGidPerAddress(GuestHost.B);
        shouldReadFromTheOtherHost(GuestHost.B);
    }

    @Test
    void shouldHaveHugePagesAndNoLimitOnLockedMemory() throws Exception {
        assertThat(run("ulimit -l")).isEqualTo("unlimited\n");
        assertThat(run("grep HugePages_Free /proc/meminfo")).containsPattern(" [1-9]\\d*\n");
    }
}
