package io.verbena.it.containers;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.InspectContainerResponse;
import io.verbena.it.process.Await;
import io.verbena.it.process.Messages;
import io.verbena.it.process.Submission;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.testcontainers.DockerClientFactory;

/** Applications submitted to a cluster of containers, each with an address, a memory limit and, mostly, a /dev/shm of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("slow")
class StandaloneContainersTest {
    /** New workers take seconds, so tests with workers of the first kind come first, and the one that kills one of them after those. */
    private static final int FIRST_WORKERS = 1;

    private static final int LAST_WITH_FIRST_WORKERS = 2;
    private static final int OTHER_WORKERS = 3;

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
        resultsOfSort = run(job(SHORT_TEXTS)).printed(SubmittedJob.RESULT);
        assertThat(resultsOfSort).hasSize(7 + 97);
    }

    /** The daemon takes the image and, if something went wrong before, all containers with it. */
    @AfterAll
    void stop() throws IOException {
        try {
            if (cluster != null) {
                cluster.close();
            }
        } finally {
            if (daemon != null) {
                daemon.close();
                assertThat(daemon.left()).isEmpty();
            }
        }
    }

    @AfterEach
    void assertNobodyWasKilledForMemory() {
        assertThat(workers).isNotEmpty().allSatisfy(worker -> {
            InspectContainerResponse container = worker.inspect();
            assertThat(container.getHostConfig().getMemory())
                    .isEqualTo(worker.kind().memoryBytes());
            assertThat(container.getState().getOOMKilled()).isFalse();
        });
    }

    /** With our defaults; two segments of the default size have no room in Docker's default /dev/shm. */
    @Test
    @Order(FIRST_WORKERS)
    void shouldRunASubmittedJobAndWarnThatDevShmIsTooSmall() throws IOException {
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        assertThat(workers.stream().map(Worker::networkNamespace))
                .allMatch(namespace -> namespace.matches("net:\\[\\d+]"))
                .doesNotHaveDuplicates();
        Driver driver = run(ours(job(SHORT_TEXTS), "256m"));
        assertRan(driver);
        assertNothingWentWrong(driver);
        assertReadOverTheNetworkOnly(driver, "its memory is not backed by files");
        assertThat(executorLogs(driver))
                .allSatisfy(log -> assertThat(linesOnSegments(log))
                        .singleElement()
                        .asString()
                        .contains("WARN", "come from plain", "too small: directory=/dev/shm", "raise --shm-size"));
    }

    /** What has no room in /dev/shm is plain memory, and what has no room in memory is on disk. */
    @Test
    @Order(FIRST_WORKERS)
    void shouldUsePlainMemoryOnceDevShmIsFullAndThenOverflow() throws IOException {
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        long memory = 72 * MIB;
        assertThat(memory).isGreaterThan(WorkerKind.DOCKERS_DEFAULT.sharedMemoryBytes());
        Driver driver = run(ours(job(LONG_TEXTS), "72m")
                .conf("spark.shuffle.rdma.memory.segmentSize", "8m")
                .conf("spark.shuffle.rdma.memory.prewarm", "72m"));
        assertRan(driver);
        assertReadOverTheNetworkOnly(driver, "its lease file is not visible here");
        assertCommitted(driver, memory);
        assertThat(driver.total(ShuffleCounter.OVERFLOWED_BYTES)).isPositive();
        assertThat(executorLogs(driver))
                .allSatisfy(log -> assertThat(linesOnSegments(log))
                        .satisfiesExactly(
                                first -> assertThat(first).contains("INFO", "come from shm"),
                                second -> assertThat(second)
                                        .contains(
                                                "WARN",
                                                "come from plain instead of shm from now on",
                                                "raise --shm-size")));
    }

    /** Heaps and all of memory.size, touched from the start, take most of what the containers may have. */
    @Test
    @Order(OTHER_WORKERS)
    void shouldMapTheMemoryOfExecutorsInTheSameContainerWithinItsMemoryLimit() throws IOException {
        workers = cluster.workers(WorkerKind.PAIRS, 2);
        Driver driver = run(ours(job(SHORT_TEXTS), "192m").conf("spark.shuffle.rdma.memory.prewarm", "192m"));
        assertRan(driver);
        assertNothingWentWrong(driver);
        assertCommitted(driver, 192 * MIB);
        assertSegmentsAreShared(driver);
        assertThat(driver.total(ShuffleCounter.READ_MAPPED_BYTES))
                .as("within containers")
                .isPositive();
        assertThat(driver.total(ShuffleCounter.READ_NETTY_BYTES))
                .as("between containers")
                .isPositive();
    }

    /** Same kernel and same files under the same paths: no setting is needed. */
    @Test
    @Order(OTHER_WORKERS)
    void shouldMapTheMemoryOfContainersThatShareDevShm() throws IOException {
        workers = cluster.workers(WorkerKind.SHARED, 2);
        assertThat(workers.stream().map(Worker::networkNamespace)).doesNotHaveDuplicates();
        Driver driver = run(ours(job(SHORT_TEXTS), "256m"));
        assertRan(driver);
        assertNothingWentWrong(driver);
        assertSegmentsAreShared(driver);
        assertThat(driver.total(ShuffleCounter.READ_MAPPED_BYTES)).isPositive();
        assertThat(driver.total(ShuffleCounter.READ_NETTY_BYTES)).isZero();
    }

    @Test
    @Order(LAST_WITH_FIRST_WORKERS)
    void shouldFinishWhenAWorkerIsKilled() throws IOException {
        workers = cluster.workers(WorkerKind.DOCKERS_DEFAULT, 3);
        Driver driver = cluster.submit(
                ours(cluster.submission(InterruptedJob.class, cluster.messages().toString(), "2"), "128m")
                        .conf("spark.shuffle.rdma.memory.segmentSize", "8m")
                        .conf("spark.shuffle.rdma.memory.prewarm", "0")
                        .conf("spark.shuffle.io.retryWait", "1s")
                        // The container's address has gone with it: nobody refuses connections.
                        .conf("spark.shuffle.io.connectionCreationTimeout", "3s"));
        Messages messages = new Messages(cluster.messages());
        List<String> addresses = workers.stream().map(Worker::address).toList();
        assertThat(Await.within(
                        120, () -> messages.texts(InterruptedJob.READING).containsAll(addresses)))
                .as("reduce tasks in the middle: %s, log: %s", messages.texts(InterruptedJob.READING), driver.log())
                .isTrue();
        Worker victim = workers.get(1);
        assertThat(victim.sharedMemoryFiles()).as("map outputs of the victim").isNotEmpty();
        cluster.kill(victim);
        assertThat(victim.inspect().getState().getExitCodeLong()).isEqualTo(128 + 9);
        workers = workers.stream().filter(worker -> !worker.equals(victim)).toList();
        messages.raise(InterruptedJob.GO, "");

        driver.awaitSuccess();
        assertThat(driver.printed(SubmittedJob.RESULT)).containsExactly(InterruptedJob.EXPECTED);
        assertThat(driver.printed(InterruptedJob.AGAIN))
                .as("outputs of the victim were made again")
                .singleElement()
                .asString()
                .matches("[1-6]");
        assertThat(driver.total(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertNothingHeld(driver);
    }

    private Submission job(int lengthOfTexts) {
        return cluster.submission(
                SubmittedJob.class, Integer.toString(cluster.executors()), Integer.toString(lengthOfTexts));
    }

    private static Submission ours(Submission submission, String memorySize) {
        return submission
                .ourShuffle()
                .conf("spark.shuffle.rdma.memory.size", memorySize)
                .conf("spark.shuffle.rdma.memory.leakTracking", "exact");
    }

    private Driver run(Submission submission) {
        return cluster.submit(submission).awaitSuccess();
    }

    private void assertRan(Driver driver) {
        assertThat(driver.printed(SubmittedJob.RESULT)).isEqualTo(resultsOfSort);
        assertThat(driver.total(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES)).isPositive();
        assertThat(driver.lines()).noneMatch(line -> line.startsWith("ERROR") || line.contains("Lost "));
        assertNothingHeld(driver);
    }

    private static void assertNothingWentWrong(Driver driver) {
        assertThat(TROUBLES)
                .allSatisfy(trouble ->
                        assertThat(driver.total(trouble)).as("%s", trouble).isZero());
    }

    private void assertReadOverTheNetworkOnly(Driver driver, String why) {
        assertThat(driver.total(ShuffleCounter.READ_NETTY_BYTES)).isPositive();
        assertThat(driver.total(ShuffleCounter.READ_MAPPED_BYTES)).isZero();
        assertThat(driver.total(ShuffleCounter.READ_RDMA_BYTES)).isZero();
        assertThat(executorLogs(driver).flatMap(List::stream))
                .anyMatch(line ->
                        line.contains("is read over the network") && line.contains("peer is not a neighbour: " + why));
    }

    /** All executors have that much memory. */
    private void assertCommitted(Driver driver, long bytes) {
        assertThat(driver.printed(SubmittedJob.STATE))
                .hasSize(cluster.executors())
                .allMatch(state -> state.endsWith("committedBytes=" + bytes));
    }

    private void assertSegmentsAreShared(Driver driver) {
        assertThat(executorLogs(driver))
                .allSatisfy(log -> assertThat(linesOnSegments(log))
                        .singleElement()
                        .asString()
                        .contains("INFO", "come from shm"));
    }

    /** When all shuffles are gone executors hold no memory and no lease, and when they have ended no file is left. */
    private void assertNothingHeld(Driver driver) {
        assertThat(driver.printed(SubmittedJob.STATE))
                .hasSize(cluster.executors())
                .allMatch(state -> state.contains(": leases=0, leasedBytes=0, quarantinedBytes=0, peerLeases=0,"));
        assertThat(workers)
                .allSatisfy(worker -> assertThat(Await.within(
                                20, () -> worker.sharedMemoryFiles().isEmpty()))
                        .as("files left in %s: %s", worker.address(), worker.sharedMemoryFiles())
                        .isTrue());
    }

    /** What the executors of an application have logged, all of them that still have a worker. */
    private Stream<List<String>> executorLogs(Driver driver) {
        List<List<String>> logs = workers.stream()
                .flatMap(worker -> worker.executorLogs(driver.applicationId()).stream())
                .toList();
        assertThat(logs).hasSize(cluster.executors());
        return logs.stream();
    }

    private static List<String> linesOnSegments(List<String> log) {
        return log.stream().filter(line -> line.contains("segments come from")).toList();
    }
}
