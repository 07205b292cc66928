package io.verbena.guest;

import io.verbena.guest.HostCommand.Tool;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Debian's current kernel for x86-64, downloaded as a package but not installed.
 *
 * @param image the bootable file
 * @param modules what the guest loads, in this order
 */
record Kernel(Path image, List<Path> modules) {
    static final List<Tool> TOOLS = List.of(
            new Tool("apt-get", "apt"),
            new Tool("dpkg", "dpkg"),
            new Tool("depmod", "kmod"),
            new Tool("modprobe", "kmod"));

    /** The root file system, the network of two hosts, software RDMA (which asks the crypto API for crc32), user-space verbs. */
    private static final List<String> MODULES = List.of(
            "virtio_pci",
            "9pnet_virtio",
            "9p",
            "overlay",
            "veth",
            "bridge",
            "crc32_generic",
            "crc32c_generic",
            "rdma_rxe",
            "rdma_ucm",
            "ib_uverbs");

    private static final Duration LIMIT = Duration.ofMinutes(5);
    private static final Path HERE = Path.of("").toAbsolutePath();

    /**
     * Returns the kernel from the cache, after filling it if need be. Several processes may call this at the same time.
     *
     * @param cache a directory of this user, created if absent; one kernel takes about 15 MB of it
     */
    static Kernel in(Path cache) throws IOException, InterruptedException {
        Files.createDirectories(cache);
        String name = packageName();
        Path target = cache.resolve(name + "-" + Integer.toHexString(MODULES.hashCode()));
        try (FileChannel channel =
                FileChannel.open(cache.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.lock();
            if (!Files.isDirectory(target)) {
                Path work = Files.createTempDirectory(cache, "unpack-");
                try {
                    fill(work, name);
                    Files.move(work.resolve("ready"), target, StandardCopyOption.ATOMIC_MOVE);
                } finally {
                    Directories.delete(work);
                }
            }
        }
        try (Stream<Path> modules = Files.list(target.resolve("modules"))) {
            return new Kernel(target.resolve("vmlinuz"), modules.sorted().toList());
        }
    }

    private static String packageName() throws IOException, InterruptedException {
        String meta = "linux-image-amd64";
        try {
            return dependency(meta);
        } catch (IOException e) {
            // Images of build machines often come without package lists.
            try {
                HostCommand.run(HERE, LIMIT, "apt-get", "-q", "update");
                return dependency(meta);
            } catch (IOException again) {
                e.addSuppressed(again);
                throw new IOException(
                        "no kernel package known: package=" + meta + "; run 'apt-get update' on Debian", e);
            }
        }
    }

    private static String dependency(String meta) throws IOException, InterruptedException {
        String text = HostCommand.run(HERE, LIMIT, "apt-cache", "depends", meta);
        Matcher matcher = Pattern.compile("Depends: (linux-image-\\S+)").matcher(text);
        if (!matcher.find()) {
            throw new IOException("no dependency of package=" + meta + " in: " + text.strip());
        }
        return matcher.group(1);
    }

    private static void fill(Path work, String name) throws IOException, InterruptedException {
        HostCommand.run(work, LIMIT, "apt-get", "-q", "download", name);
        Path unpacked = work.resolve("unpacked");
        HostCommand.run(work, LIMIT, "dpkg", "-x", only(work, name + "_*.deb").toString(), unpacked.toString());
        Path image = only(unpacked.resolve("boot"), "vmlinuz-*");
        String version = image.getFileName().toString().substring("vmlinuz-".length());
        HostCommand.run(work, LIMIT, "depmod", "-b", unpacked.toString(), version);

        Path ready = Files.createDirectory(work.resolve("ready"));
        Files.move(image, ready.resolve("vmlinuz"));
        Path modules = Files.createDirectory(ready.resolve("modules"));
        int order = 100;
        for (Path module : inLoadOrder(unpacked, version)) {
            Files.move(module, modules.resolve(order++ + "-" + module.getFileName()));
        }
    }

    private static Set<Path> inLoadOrder(Path unpacked, String version) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("modprobe", "-d", unpacked.toString(), "-S", version));
        command.addAll(List.of("--show-depends", "--all"));
        command.addAll(MODULES);
        Set<Path> files = new LinkedHashSet<>();
        HostCommand.run(HERE, LIMIT, command.toArray(String[]::new))
                .lines()
                .filter(line -> line.startsWith("insmod "))
                .forEach(line -> files.add(Path.of(line.split(" ", -1)[1])));
        return files;
    }

    private static Path only(Path directory, String glob) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            var matcher = directory.getFileSystem().getPathMatcher("glob:" + glob);
            List<Path> found =
                    files.filter(file -> matcher.matches(file.getFileName())).toList();
            if (found.size() != 1) {
                throw new IOException(
                        "expected one file: directory=" + directory + ", glob=" + glob + ", found=" + found);
            }
            return found.get(0);
        }
    }
}
