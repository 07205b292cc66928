package io.verbena.it.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * A third RDMA device of the guest, for a test that takes it away: the kernel lets rxe go only when no process has it open, and this
 * process opens the other two.
 */
final class ExtraDevice implements AutoCloseable {
    /** Its address. */
    static final String ADDRESS = "10.2.0.1";

    private Process removal;

    ExtraDevice() throws IOException {
        run("ip", "link", "add", "vethC", "mtu", "4200", "type", "veth", "peer", "name", "cableC", "mtu", "4200");
        run("ip", "link", "set", "cableC", "up");
        run("ip", "link", "set", "vethC", "up");
        run("ip", "addr", "add", ADDRESS + "/24", "dev", "vethC");
        run("rdma", "link", "add", "rxeC", "type", "rxe", "netdev", "vethC");
    }

    private static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        // Its output has ended, so it has.
        assertThat(process.onExit().join().exitValue())
                .as("%s: %s", String.join(" ", command), said)
                .isZero();
    }

    /** Begins to remove it; the kernel tells its users, and is done when they have let go. */
    void beginRemoval() throws IOException {
        removal = new ProcessBuilder("rdma", "link", "delete", "rxeC")
                .redirectErrorStream(true)
                .start();
    }

    /** Returns whether it is gone within a minute. */
    boolean isRemoved() throws InterruptedException {
        return removal.waitFor(60, TimeUnit.SECONDS) && removal.exitValue() == 0;
    }

    @Override
    public void close() throws IOException {
        run("ip", "link", "delete", "vethC");
    }
}
