package io.verbena.guest;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * One of the two RDMA hosts inside the guest, as {@code hosts.sh} makes them: a network interface, an IPv4 and an IPv6 address, an rxe
 * device with one port, and a cable to a switch. Traffic between the hosts' addresses crosses the switch.
 *
 * <p>Methods that change something return when the change is visible to verbs programs. They throw {@link IOException} if a command
 * fails or that does not happen in time. Threads: one at a time, since the state is the machine's.
 */
public enum GuestHost {
    /** The first host. */
    A("10.1.0.1", "fd01::1"),
    /** The second host. */
    B("10.1.0.2", "fd01::2");

    private static final Duration LIMIT = Duration.ofSeconds(30);
    private static final Path HERE = Path.of("/");

    private final String address4;
    private final String address6;

    GuestHost(String address4, String address6) {
        this.address4 = address4;
        this.address6 = address6;
    }

    /** Returns the numeric IPv4 address. */
    public String address4() {
        return address4;
    }

    /** Returns the numeric IPv6 address. */
    public String address6() {
        return address6;
    }

    /** Returns the network interface, for instance {@code vethA}. */
    public String interfaceName() {
        return "veth" + name();
    }

    /** Returns the RDMA device, for instance {@code rxeA}. */
    public String deviceName() {
        return "rxe" + name();
    }

    /** Returns the other host. */
    public GuestHost peer() {
        return this == A ? B : A;
    }

    /** Pulls the cable: the interface loses its carrier and the port goes down. */
    public void unplug() throws IOException, InterruptedException {
        run("ip", "link", "set", "cable" + name(), "down");
        await("the port is down", () -> !isActive());
    }

    /** Plugs the cable in again. Does nothing if it is. */
    public void plug() throws IOException, InterruptedException {
        run("ip", "link", "set", "cable" + name(), "up");
        await("the port is active", this::isActive);
    }

    /** Makes the switch drop every packet, while the ports stay active. */
    public static void stopSwitch() throws IOException, InterruptedException {
        run("ip", "link", "set", "switch", "down");
    }

    /** Makes the switch forward again. Does nothing if it does. */
    public static void startSwitch() throws IOException, InterruptedException {
        run("ip", "link", "set", "switch", "up");
    }

    /** Removes the device, as if the adapter had been taken out. */
    public void removeDevice() throws IOException, InterruptedException {
        run("rdma", "link", "delete", deviceName());
        await("the device is gone", () -> !Files.exists(port()));
    }

    /** Adds the device after {@link #removeDevice}. */
    public void addDevice() throws IOException, InterruptedException {
        run("rdma", "link", "add", deviceName(), "type", "rxe", "netdev", interfaceName());
        await("the port is active", this::isActive);
        await(
                "both addresses have a GID",
                () -> gidIndexOrMinusOne(address4) >= 0 && gidIndexOrMinusOne(address6) >= 0);
    }

    /** Returns whether the port exists and is active. */
    public boolean isActive() throws IOException {
        Path state = port().resolve("state");
        return Files.exists(state) && Files.readString(state).contains("ACTIVE");
    }

    /**
     * Returns the index of an address in the port's GID table.
     *
     * @param address one of this host's, numeric
     * @throws IOException if the table does not have it
     */
    public int gidIndex(String address) throws IOException {
        int index = gidIndexOrMinusOne(address);
        if (index < 0) {
            throw new IOException("no GID: address=" + address + ", device=" + deviceName());
        }
        return index;
    }

    private int gidIndexOrMinusOne(String address) throws IOException {
        String gid = gid(address);
        // Entries are few and come first; the kernel makes 1024 files of the table.
        for (int index = 0; index < 16; index++) {
            Path entry = port().resolve("gids").resolve(Integer.toString(index));
            if (Files.exists(entry) && Files.readString(entry).strip().equals(gid)) {
                return index;
            }
        }
        return -1;
    }

    /** An address as the kernel prints a GID: eight groups of four digits; IPv4 is mapped into IPv6. */
    private static String gid(String address) throws UnknownHostException {
        InetAddress parsed = InetAddress.getByName(address);
        byte[] bytes = parsed.getAddress();
        String digits = parsed instanceof Inet6Address
                ? HexFormat.of().formatHex(bytes)
                : "00000000000000000000ffff" + HexFormat.of().formatHex(bytes);
        return String.join(":", List.of(digits.split("(?<=\\G.{4})", -1)).subList(0, 8))
                .toLowerCase(Locale.ROOT);
    }

    private Path port() {
        return Path.of("/sys/class/infiniband", deviceName(), "ports", "1");
    }

    private static void run(String... command) throws IOException, InterruptedException {
        HostCommand.run(HERE, LIMIT, command);
    }

    private interface Condition {
        boolean isTrue() throws IOException;
    }

    private void await(String description, Condition condition) throws IOException {
        long deadlineNs = System.nanoTime() + LIMIT.toNanos();
        while (!condition.isTrue()) {
            if (System.nanoTime() - deadlineNs > 0) {
                throw new IOException("not within " + LIMIT + ": " + description + ", device=" + deviceName());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
    }
}
