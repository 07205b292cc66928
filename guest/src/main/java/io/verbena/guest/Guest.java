package io.verbena.guest;

import io.verbena.guest.HostCommand.Tool;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A virtual machine of two processors that runs one command and ends. It is emulated (QEMU's TCG), so it needs no permissions, and it
 * has no network to the outside.
 *
 * <p>Inside, {@code /} is the host's root with a layer in memory above it: the command sees the host's JDK, libraries and build
 * outputs, and what it writes is gone with the guest, except below {@code /exchange}, which is {@link #Guest the directory}. The
 * two hosts of {@link GuestHost} are up, locked memory is not limited, and {@value #HUGE_PAGES} huge pages are free.
 *
 * <p>Threads: confined to one. QEMU is a child of this JVM and ends with {@link #run} in any case; should this JVM be killed, the
 * guest powers itself off at its limit.
 */
public final class Guest {
    /** 2 MiB each. */
    static final int HUGE_PAGES = 64;

    private static final List<Tool> TOOLS = List.of(
            new Tool("qemu-system-x86_64", "qemu-system-x86"),
            new Tool("rdma", "iproute2"),
            new Tool("ip", "iproute2"),
            new Tool("ibv_devinfo", "ibverbs-utils"),
            new Tool("/etc/libibverbs.d/rxe.driver", "ibverbs-providers"),
            new Tool("ib_read_bw", "perftest"));

    /** For the guest's own end at its limit: thread dumps, then power off. */
    private static final Duration GRACE = Duration.ofSeconds(30);

    private final Path directory;
    private Duration limit = Duration.ofMinutes(5);
    private int memoryMiB = 8192;

    /** @param directory for the files of one run; what an earlier run left there is deleted */
    public Guest(Path directory) {
        this.directory = directory.toAbsolutePath();
    }

    /** Sets how long the guest may live, boot included. The default is 5 minutes. */
    public Guest limit(Duration value) {
        limit = value;
        return this;
    }

    /** Sets the guest's memory in MiB, of which the host provides what the guest has touched. The default is 8192. */
    public Guest memoryMiB(int value) {
        memoryMiB = value;
        return this;
    }

    /**
     * Boots, runs a shell script with {@code /exchange} as its working directory, and returns when the machine is off.
     *
     * @throws IOException if tools or packages are missing (the message names them), the kernel cannot be had, the guest did not
     *     boot, or the limit passed; then with the ends of console and output
     */
    public GuestResult run(String script) throws IOException, InterruptedException {
        List<Tool> tools = new ArrayList<>(TOOLS);
        tools.addAll(Kernel.TOOLS);
        tools.addAll(Initramfs.TOOLS);
        HostCommand.require(tools);
        Kernel kernel = Kernel.in(cache());

        Directories.delete(directory);
        Files.createDirectories(directory);
        Initramfs.resource("hosts.sh", directory.resolve("hosts.sh"));
        Files.writeString(directory.resolve("command"), "sh ./hosts.sh || exit 125\n" + script + "\n");
        Path initramfs = Files.createTempFile("verbena-initramfs-", ".gz");
        try {
            Initramfs.write(kernel, initramfs);
            boolean ended = boot(qemu(kernel, initramfs));
            return result(ended);
        } finally {
            Files.delete(initramfs);
        }
    }

    /** Where the kernel is kept between runs and builds: $XDG_CACHE_HOME/verbena-guest, by default below ~/.cache. */
    private static Path cache() {
        return Optional.ofNullable(System.getenv("XDG_CACHE_HOME"))
                .filter(home -> !home.isEmpty())
                .map(Path::of)
                .orElse(Path.of(System.getProperty("user.home"), ".cache"))
                .resolve("verbena-guest");
    }

    private List<String> qemu(Kernel kernel, Path initramfs) {
        return List.of(
                "qemu-system-x86_64",
                "-nodefaults",
                "-nographic",
                "-no-reboot",
                "-serial",
                "stdio",
                "-nic",
                "none",
                "-machine",
                "q35",
                "-accel",
                "tcg,thread=multi",
                "-cpu",
                "max",
                "-smp",
                "2",
                "-m",
                Integer.toString(memoryMiB),
                "-kernel",
                kernel.image().toString(),
                "-initrd",
                initramfs.toString(),
                "-append",
                "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check verbena.limit=" + limit.toSeconds()
                        + " verbena.hugepages=" + HUGE_PAGES,
                "-virtfs",
                "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                "-virtfs",
                "local,path=" + directory.toString().replace(",", ",,") + ",mount_tag=exchange,security_model=none");
    }

    private boolean boot(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(directory.resolve("console.log").toFile())
                .start();
        Thread killer = new Thread(process::destroyForcibly, "guest-killer");
        Runtime.getRuntime().addShutdownHook(killer);
        try {
            return process.waitFor(limit.plus(GRACE).toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            process.destroyForcibly().onExit().join();
            try {
                Runtime.getRuntime().removeShutdownHook(killer);
            } catch (IllegalStateException e) {
                // The JVM is going down and runs the hook: QEMU is gone either way.
                assert !process.isAlive();
            }
        }
    }

    private GuestResult result(boolean ended) throws IOException {
        Path status = directory.resolve("status");
        if (!Files.exists(status)) {
            throw new IOException("the guest ended without an exit status: limit=" + limit + ", killed=" + !ended
                    + ", directory=" + directory + "; give it more time if it was still busy"
                    + GuestResult.tails(directory));
        }
        String text = Files.readString(status, StandardCharsets.UTF_8).strip();
        return new GuestResult(Integer.parseInt(text), directory);
    }
}
