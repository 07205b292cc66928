package io.verbena.it.containers;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.InspectContainerResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.GenericContainer;

/**
 * A worker in its container.
 *
 * @param directory where it keeps its executors' output
 */
record Worker(DockerClient client, String address, GenericContainer<?> container, Path directory) {
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

    /** Output of the executor that this worker started for an application. */
    List<String> executorLog(String applicationId) {
        try (Stream<Path> files = Files.walk(directory.resolve(applicationId))) {
            Path log = files.filter(file -> file.endsWith("stderr"))
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException(address + " started no executor"));
            return Files.readAllLines(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
