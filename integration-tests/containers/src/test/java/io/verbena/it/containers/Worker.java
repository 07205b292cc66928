package io.verbena.it.containers;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.InspectContainerResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;

/**
 * A worker in its container.
 *
 * @param kind what the container has
 * @param directory where it keeps its executors' output
 */
record Worker(DockerClient client, String address, WorkerKind kind, GenericContainer<?> container, Path directory) {
    InspectContainerResponse inspect() {
        return client.inspectContainerCmd(container.getContainerId()).exec();
    }

    /** Files of map outputs in /dev/shm; not the lock that outlives executors. */
    List<String> sharedMemoryFiles() {
        return run("find", "/dev/shm", "-type", "f", "!", "-name", "sweep.lock")
                .lines()
                .toList();
    }

    /** What tells this container's network from others. */
    String networkNamespace() {
        return run("readlink", "/proc/self/ns/net").strip();
    }

    private String run(String... command) {
        try {
            ExecResult result = container.execInContainer(command);
            // find fails when a directory vanishes under it.
            return result.getStdout();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Output of the executors that this worker started for an application, one list of lines each. */
    List<List<String>> executorLogs(String applicationId) {
        List<List<String>> logs = new ArrayList<>();
        try (Stream<Path> files = Files.walk(directory.resolve(applicationId))) {
            for (Path log : files.filter(file -> file.endsWith("stderr")).toList()) {
                logs.add(Files.readAllLines(log));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return logs;
    }

    @Override
    public String toString() {
        return "worker " + address;
    }
}
