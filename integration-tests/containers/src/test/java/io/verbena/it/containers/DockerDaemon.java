package io.verbena.it.containers;

import io.verbena.it.process.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * Docker's daemon, in namespaces of its own for processes, mounts and the network. What it makes is invisible outside (bridges,
 * mounts, containers, their shims), so it disturbs no other daemon and needs no address and no packet filter of the host; and all
 * of it ends with the daemon at the latest, because the kernel ends a namespace of processes with its first one.
 *
 * <p>Needs root, and Debian's package docker.io. Ends with this JVM, even if that is killed. Threads: the test's.
 */
final class DockerDaemon implements AutoCloseable {
    private static final AtomicReference<DockerDaemon> RUNNING = new AtomicReference<>();
    private static final Path CGROUPS = Path.of("/sys/fs/cgroup");
    private static final long START_SECONDS = 60;
    private static final long STOP_SECONDS = 20;

    private static final List<String> NAMESPACES =
            List.of("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc");

    /** What the daemon makes outside of its directories, whatever it is told. */
    private static final List<Path> OUTSIDE = List.of(Path.of("/etc/docker"), Path.of("/opt/containerd"));

    /** With an empty /run a system's containerd is not found, and shims leave no sockets in the real one. */
    private static final String INSIDE = "mount -t tmpfs tmpfs /run && exec dockerd \"$@\"";

    private final Path directory;
    private final Process process;
    private final List<Path> made;
    private final Thread exit = new Thread(this::end, "docker-exit");

    private DockerDaemon(Path directory, Process process, List<Path> made) {
        this.directory = directory;
        this.process = process;
        this.made = made;
    }

    /**
     * Starts the daemon and waits until it answers.
     *
     * @param more arguments
     * @throws IllegalStateException with the daemon's log if it does not
     */
    static DockerDaemon start(String... more) throws IOException {
        // Not below target: a socket's path has at most 107 bytes.
        Path directory = Files.createTempDirectory("verbena-docker-");
        List<String> command = new ArrayList<>(List.of("setpriv", "--pdeathsig", "KILL"));
        command.addAll(NAMESPACES);
        command.addAll(List.of("sh", "-c", INSIDE, "dockerd"));
        command.addAll(arguments(directory));
        command.addAll(List.of(more));
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectOutput(log(directory).toFile());
        // Users' paths leave out the directories of administrators' commands.
        builder.environment().merge("PATH", ":/usr/sbin:/sbin", String::concat);
        List<Path> absent = OUTSIDE.stream().filter(Files::notExists).toList();
        DockerDaemon daemon = new DockerDaemon(directory, builder.start(), absent);
        Runtime.getRuntime().addShutdownHook(daemon.exit);
        RUNNING.set(daemon);
        daemon.awaitStart();
        return daemon;
    }

    private static List<String> arguments(Path directory) throws IOException {
        return List.of(
                // Else a configuration of the machine would apply, and contradict these.
                "--config-file=" + Files.writeString(directory.resolve("daemon.json"), "{}"),
                "--host=" + socket(directory),
                "--data-root=" + directory.resolve("data"),
                "--exec-root=" + directory.resolve("exec"),
                "--pidfile=" + directory.resolve("pid"),
                // Works on every file system, and the image is next to nothing to copy.
                "--storage-driver=vfs",
                "--exec-opt=native.cgroupdriver=cgroupfs",
                "--cgroup-parent=/" + directory.getFileName(),
                "--shutdown-timeout=5",
                // Containers talk to each other only.
                "--bridge=none",
                "--iptables=false",
                "--ip6tables=false",
                "--ip-forward=false",
                "--ip-masq=false");
    }

    /** The daemon that tests of this JVM use. */
    static DockerDaemon running() {
        DockerDaemon daemon = RUNNING.get();
        if (daemon == null) {
            throw new IllegalStateException("no daemon was started");
        }
        return daemon;
    }

    URI socket() {
        return socket(directory);
    }

    private static URI socket(Path directory) {
        return URI.create("unix://" + directory.resolve("docker.sock"));
    }

    private static Path log(Path directory) {
        return directory.resolve("dockerd.log");
    }

    /** What the daemon has logged so far. */
    String log() {
        try {
            return Files.readString(log(directory));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void awaitStart() {
        boolean ready = Await.within(START_SECONDS, () -> !process.isAlive() || isListening()) && isListening();
        if (!ready) {
            String log = log();
            close();
            throw new IllegalStateException(
                    "dockerd did not start (it needs root and Debian's package docker.io); its log:\n" + log);
        }
    }

    private boolean isListening() {
        return log().contains("API listen on ");
    }

    @Override
    public void close() {
        RUNNING.compareAndSet(this, null);
        end();
        Runtime.getRuntime().removeShutdownHook(exit);
    }

    private void end() {
        // The daemon itself: unshare, its parent, would leave it no time.
        List<ProcessHandle> daemon = process.children().toList();
        daemon.forEach(ProcessHandle::destroy);
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                daemon.forEach(ProcessHandle::destroyForcibly);
            }
            // After the first process of the namespace has been waited for, there is no other.
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                throw new IllegalStateException("dockerd does not end: pid=" + process.pid() + "; its log: " + log());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            process.destroyForcibly();
            return;
        }
        try {
            for (Path cgroup : cgroups()) {
                removeCgroup(cgroup);
            }
            for (Path path : made) {
                if (Files.exists(path)) {
                    Directories.delete(path);
                }
            }
            Directories.delete(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** With version 1 of cgroups each controller has a tree, with version 2 there is one. */
    private List<Path> cgroups() throws IOException {
        List<Path> trees = new ArrayList<>(List.of(CGROUPS));
        try (Stream<Path> controllers = Files.list(CGROUPS)) {
            controllers.filter(Files::isDirectory).forEach(trees::add);
        }
        return trees.stream()
                .map(tree -> tree.resolve(directory.getFileName()))
                .filter(Files::isDirectory)
                .toList();
    }

    private static void removeCgroup(Path top) throws IOException {
        // What the kernel shows as files in there cannot be deleted, and need not.
        try (Stream<Path> all = Files.walk(top)) {
            for (Path cgroup : all.filter(Files::isDirectory)
                    .sorted(Comparator.reverseOrder())
                    .toList()) {
                Files.delete(cgroup);
            }
        }
    }

    /** What is there of a daemon that has been closed: processes, directories, cgroups. Nothing, if all is well. */
    List<String> left() throws IOException {
        Stream<String> processes = ProcessHandle.allProcesses()
                .map(ProcessHandle::info)
                .flatMap(info -> info.commandLine().stream())
                .filter(line -> line.contains(directory.toString()));
        Stream<String> paths = Stream.concat(Stream.concat(made.stream(), Stream.of(directory)), cgroups().stream())
                .filter(Files::exists)
                .map(Path::toString);
        return Stream.concat(processes, paths).toList();
    }
}
