package io.verbena.guest;

import io.verbena.guest.HostCommand.Tool;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;

/** The guest's first file system: a shell, the modules and {@code init.sh}. */
final class Initramfs {
    /** Debian's other busybox has the same name and needs libraries. */
    static final List<Tool> TOOLS =
            List.of(new Tool("/var/lib/dpkg/info/busybox-static.list", "busybox-static"), new Tool("gzip", "gzip"));

    private static final Duration LIMIT = Duration.ofMinutes(1);

    private Initramfs() {}

    /** Writes the archive. */
    static void write(Kernel kernel, Path archive) throws IOException, InterruptedException {
        Path root = Files.createTempDirectory("verbena-initramfs-");
        try {
            for (String name : List.of("bin", "proc", "sys", "dev", "modules", "lower", "upper", "newroot")) {
                Files.createDirectory(root.resolve(name));
            }
            String busybox = HostCommand.run(root, LIMIT, "sh", "-c", "command -v busybox")
                    .strip();
            Files.copy(Path.of(busybox), root.resolve("bin/busybox"));
            for (Path module : kernel.modules()) {
                Files.copy(module, root.resolve("modules").resolve(module.getFileName()));
            }
            Path init = root.resolve("init");
            resource("init.sh", init);
            Files.setPosixFilePermissions(init, PosixFilePermissions.fromString("rwxr-xr-x"));
            HostCommand.run(
                    root,
                    LIMIT,
                    "sh",
                    "-c",
                    "find . | busybox cpio -o -H newc | gzip -1 >\"$0\"",
                    archive.toAbsolutePath().toString());
        } finally {
            Directories.delete(root);
        }
    }

    /** Copies a file of this package. */
    static void resource(String name, Path target) throws IOException {
        try (InputStream in = Initramfs.class.getResourceAsStream(name)) {
            Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
        }
    }
}
