package io.verbena.it.containers;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.AccessMode;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Volume;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.testcontainers.utility.DockerImageName;

/**
 * An image for machines that reach no registry: a root file system of empty directories. Containers mount the host's /usr and the
 * JDK of this JVM into it, read-only and at their own paths.
 */
final class HostImage {
    static final DockerImageName NAME = DockerImageName.parse("verbena-host:test");

    private static final Path USR = Path.of("/usr");
    private static final List<String> LINKS_TO_USR = List.of("bin", "sbin", "lib", "lib64");
    private static final List<String> DIRECTORIES = List.of("dev", "etc", "proc", "root", "run", "sys", "usr");
    private static final Map<String, String> FILES = Map.of(
            "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n",
            "etc/group", "root:x:0:\n",
            "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");

    private HostImage() {}

    static void buildWith(DockerClient client) throws IOException {
        ByteArrayOutputStream context = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(context)) {
            putFile(tar, "Dockerfile", "FROM scratch\nADD root.tar /\n".getBytes(StandardCharsets.UTF_8));
            putFile(tar, "root.tar", rootFileSystem());
        }
        client.buildImageCmd(new ByteArrayInputStream(context.toByteArray()))
                .withTags(Set.of(NAME.asCanonicalNameString()))
                .start()
                .awaitImageId();
    }

    private static byte[] rootFileSystem() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes)) {
            for (String directory : DIRECTORIES) {
                put(tar, new TarArchiveEntry(directory + "/"), 0755);
            }
            put(tar, new TarArchiveEntry("tmp/"), 01777);
            for (String link : LINKS_TO_USR) {
                Path path = Path.of("/", link);
                if (Files.isSymbolicLink(path)) {
                    TarArchiveEntry entry = new TarArchiveEntry(link, TarConstants.LF_SYMLINK);
                    entry.setLinkName(Files.readSymbolicLink(path).toString());
                    put(tar, entry, 0777);
                } else if (Files.exists(path)) {
                    throw new IOException(
                            path + " is not a link into /usr: containers get their programs from /usr alone");
                }
            }
            for (Map.Entry<String, String> file : FILES.entrySet()) {
                putFile(tar, file.getKey(), file.getValue().getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toByteArray();
    }

    private static void put(TarArchiveOutputStream tar, TarArchiveEntry entry, int mode) throws IOException {
        entry.setMode(mode);
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    private static void putFile(TarArchiveOutputStream tar, String name, byte[] content) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name);
        entry.setSize(content.length);
        entry.setMode(0644);
        tar.putArchiveEntry(entry);
        tar.write(content);
        tar.closeArchiveEntry();
    }

    /** What fills the image: programs, libraries and this JVM's JDK. */
    static List<Bind> binds() throws IOException {
        Set<Path> roots = new TreeSet<>(List.of(USR));
        Path jdk = Path.of(System.getProperty("java.home")).toRealPath();
        add(roots, jdk);
        List<Path> files;
        try (Stream<Path> tree = Files.walk(jdk)) {
            files = tree.filter(Files::isSymbolicLink).filter(Files::exists).toList();
        }
        // Debian's JDKs have their configuration and certificates in /etc.
        for (Path link : files) {
            add(roots, link.toRealPath().getParent());
        }
        return roots.stream().map(HostImage::readOnly).toList();
    }

    private static void add(Set<Path> roots, Path directory) {
        if (roots.stream().noneMatch(directory::startsWith)) {
            roots.removeIf(known -> known.startsWith(directory));
            roots.add(directory);
        }
    }

    static Bind readOnly(Path directory) {
        return new Bind(directory.toString(), new Volume(directory.toString()), AccessMode.ro);
    }

    static Bind writable(Path directory) {
        return new Bind(directory.toString(), new Volume(directory.toString()), AccessMode.rw);
    }
}
