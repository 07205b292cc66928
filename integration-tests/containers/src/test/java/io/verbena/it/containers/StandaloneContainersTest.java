package io.verbena.it.containers;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.DockerClient;
import io.verbena.it.process.Await;
import com.github.dockerjava.api.command.InspectContainerResponse;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.testcontainers.DockerClientFactory;

/** Applications submitted to a cluster of containers, each with an address, a memory limit and, mostly, a /dev/shm of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("slow")
class StandaloneContainersTest {
    private static final long MIB = 1L << 20;
    private static final int SHORT_TEXTS = 100;
    /** 240 MB, more than three times what Docker gives to /dev/shm. */
    private static final int LONG_TEXTS = 2000;

    private static final List<ShuffleCounter> TROUBLES = List.of(
            ShuffleCounter.OVERFLOWED_BYTES,
            ShuffleCounter.READ_RETRIES,
            ShuffleCounter.FETCH_FAILURES,
            ShuffleCounter.PEERS_DEMOTED);

    private DockerDaemon daemon;
    private SparkContainers cluster;
    private List<String> resultsOfSort;
    private List<Worker> workers = List.of();

    @BeforeAll
    void start() throws IOException {
        daemon = DockerDaemon.start();
        DockerClient client = DockerClientFactory.lazyClient();
        HostImage.buildWith(client);
        cluster = new SparkContainers(client);
        cluster.startMaster();
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        resultsOfSort =
                submit(Map.of("spark.shuffle.manager", "sort"), SHORT_TEXTS).printed(SubmittedJob.RESULT);
        assertThat(resultsOfSort).hasSize(7 + 97);
    }

    /** The daemon takes the image and, if something went wrong before, all containers with it. */
    @AfterAll
    void stop() {
        try {
            if (cluster != null) {
                cluster.close();
            }
        } finally {
            if (daemon != null) {
                daemon.close();
            }
        }
    }

    @AfterEach
    void assertNobodyWasKilledForMemory() {
        assertThat(workers).isNotEmpty().allSatisfy(worker -> {
            InspectContainerResponse container = worker.inspect();
            assertThat(container.getHostConfig().getMemory()).isEqualTo(SparkContainers.WORKER_MEMORY_BYTES);
            assertThat(container.getState().getOOMKilled()).isFalse();
        });
    }

    @Test
    void shouldRunASubmittedJob() throws IOException {
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        assertThat(workers.stream().map(Worker::networkNamespace))
                .allMatch(namespace -> namespace.matches("net:\\[\\d+]"))
                .doesNotHaveDuplicates();
        Submission submission = submit(ours("spark.shuffle.rdma.memory.size", "256m"), SHORT_TEXTS);
        assertRan(submission);
        assertReadOverTheNetwork(submission);
        // Two segments of the default size have no room in 64 MiB.
        assertThat(workers)
                .allSatisfy(worker -> assertThat(linesOnSegments(worker, submission))
                        .singleElement()
                        .asString()
                        .contains("come from plain", "too small: directory=/dev/shm", "raise --shm-size"));
    }

    @Test
    void shouldUsePlainMemoryOnceDevShmIsFull() throws IOException {
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        Submission submission = submit(
                ours("spark.shuffle.rdma.memory.size", "256m", "spark.shuffle.rdma.memory.segmentSize", "8m"),
                LONG_TEXTS);
        assertRan(submission);
        assertReadOverTheNetwork(submission);
        assertThat(submission.total(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                .as("more than fits into /dev/shm of all workers")
                .isGreaterThan(3 * WorkerKind.DOCKERS_DEFAULT.sharedMemoryBytes());
        assertThat(workers)
                .allSatisfy(worker -> assertThat(linesOnSegments(worker, submission))
                        .satisfiesExactly(
                                first -> assertThat(first).contains("INFO", "come from shm"),
                                second -> assertThat(second)
                                        .contains(
                                                "WARN",
                                                "come from plain instead of shm from now on",
                                                "raise --shm-size")));
    }

    /** The executor's heap and all of memory.size in use take most of what the container may have. */
    @Test
    void shouldStayWithinTheMemoryLimitOfTheContainer() throws IOException {
        workers = cluster.workers(WorkerKind.ROOMY, 3);
        Submission submission = submit(
                ours("spark.shuffle.rdma.memory.size", "384m", "spark.shuffle.rdma.memory.prewarm", "384m"),
                LONG_TEXTS);
        assertRan(submission);
        assertReadOverTheNetwork(submission);
        assertThat(submission.printed(SubmittedJob.STATE))
                .hasSize(3)
                .allMatch(state -> state.endsWith("committedBytes=" + 384 * MIB));
        assertThat(workers)
                .allSatisfy(worker -> assertThat(linesOnSegments(worker, submission))
                        .singleElement()
                        .asString()
                        .contains("come from shm"));
    }

    /** Same kernel and same files under the same paths: no setting is needed. */
    @Test
    void shouldMapTheMemoryOfContainersThatShareDevShm() throws IOException {
        workers = cluster.workers(WorkerKind.SHARED, 2);
        assertThat(workers.stream().map(Worker::networkNamespace)).doesNotHaveDuplicates();
        Submission submission = submit(ours("spark.shuffle.rdma.memory.size", "256m"), SHORT_TEXTS);
        assertRan(submission);
        assertThat(submission.total(ShuffleCounter.READ_MAPPED_BYTES)).isPositive();
        assertThat(submission.total(ShuffleCounter.READ_NETTY_BYTES)).isZero();
    }

    @Test
    void shouldFinishWhenAWorkerIsKilled() throws IOException {
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        Submission submission = cluster.submit(
                ours(
                        "spark.shuffle.rdma.memory.size",
                        "128m",
                        "spark.shuffle.rdma.memory.segmentSize",
                        "8m",
                        "spark.shuffle.rdma.memory.prewarm",
                        "0",
                        "spark.shuffle.io.retryWait",
                        "1s"),
                InterruptedJob.class,
                cluster.signals().toString(),
                "2");
        List<String> addresses = workers.stream().map(Worker::address).toList();
        assertThat(Await.within(120, () -> readers().containsAll(addresses)))
                .as("reduce tasks in the middle: %s, log: %s", readers(), submission.log())
                .isTrue();
        Worker victim = workers.get(1);
        assertThat(victim.sharedMemoryFiles()).as("map outputs of the victim").isNotEmpty();
        cluster.kill(victim);
        assertThat(victim.inspect().getState().getExitCodeLong()).isEqualTo(128 + 9);
        workers = workers.stream().filter(worker -> !worker.equals(victim)).toList();
        Files.createFile(cluster.signals().resolve(InterruptedJob.GO));

        submission.awaitSuccess();
        assertThat(submission.printed(SubmittedJob.RESULT)).containsExactly(InterruptedJob.EXPECTED);
        assertThat(submission.printed(InterruptedJob.AGAIN))
                .as("outputs of the victim were made again")
                .singleElement()
                .asString()
                .matches("[1-6]");
        assertThat(submission.total(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertNothingHeld(submission);
    }

    /** Addresses of executors that have a reduce task in the middle. */
    private List<String> readers() {
        try (Stream<Path> files = Files.list(cluster.signals())) {
            return files.filter(file -> file.getFileName().toString().startsWith(InterruptedJob.READING))
                    .map(StandaloneContainersTest::read)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Submission submit(Map<String, String> conf, int lengthOfTexts) {
        return cluster.submit(
                        conf, SubmittedJob.class, Integer.toString(workers.size()), Integer.toString(lengthOfTexts))
                .awaitSuccess();
    }

    private static Map<String, String> ours(String... keysAndValues) {
        Map<String, String> conf = new HashMap<>();
        conf.put("spark.shuffle.manager", "org.apache.spark.shuffle.rdma.RdmaShuffleManager");
        conf.put("spark.shuffle.rdma.memory.leakTracking", "exact");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.put(keysAndValues[i], keysAndValues[i + 1]);
        }
        return conf;
    }

    private void assertRan(Submission submission) {
        assertThat(submission.printed(SubmittedJob.RESULT)).isEqualTo(resultsOfSort);
        assertThat(submission.total(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
        assertThat(TROUBLES)
                .allSatisfy(trouble ->
                        assertThat(submission.total(trouble)).as("%s", trouble).isZero());
        assertThat(submission.lines()).noneMatch(line -> line.startsWith("ERROR") || line.contains("Lost "));
        assertNothingHeld(submission);
    }

    private void assertReadOverTheNetwork(Submission submission) {
        assertThat(submission.total(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(submission.total(ShuffleCounter.READ_MAPPED_BYTES)).isZero();
        assertThat(submission.total(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        assertThat(workers)
                .allSatisfy(worker -> assertThat(worker.executorLog(submission.applicationId()))
                        .anyMatch(line -> line.contains("peer is not a neighbour")));
    }

    /** When all shuffles are gone executors hold no memory and no lease, and when they have ended no file is left. */
    private void assertNothingHeld(Submission submission) {
        assertThat(submission.printed(SubmittedJob.STATE))
                .hasSize(workers.size())
                .allMatch(state -> state.contains(": leases=0, leasedBytes=0, quarantinedBytes=0, peerLeases=0,"));
        assertThat(workers)
                .allSatisfy(worker -> assertThat(Await.within(
                                20, () -> worker.sharedMemoryFiles().isEmpty()))
                        .as("files left in %s: %s", worker.address(), worker.sharedMemoryFiles())
                        .isTrue());
    }

    private static List<String> linesOnSegments(Worker worker, Submission submission) {
        return worker.executorLog(submission.applicationId()).stream()
                .filter(line -> line.contains("segments come from"))
                .toList();
    }
}
