package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The jar and the settings that users get, on YARN, with input and output on HDFS. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("slow")
class YarnTest {
    private static final String INPUT = "/input";
    private static final String EXPECTED = "/expected";
    private static final Map<String, String> SIZES = YarnSpark.sizes(128);

    private HadoopCluster hadoop;
    private YarnSpark spark;

    @BeforeAll
    void start(@TempDir Path temporary) throws Exception {
        hadoop = HadoopCluster.start(temporary.resolve("hadoop-" + YarnTest.class.getSimpleName()), Map.of());
        spark = YarnSpark.on(hadoop, temporary);
        hadoop.write(
                INPUT + "/orders/orders.csv",
                IntStream.range(0, 50_000)
                        .mapToObj(i -> (i * 7919 % 1000) + "," + (i % 100))
                        .toList());
        hadoop.write(
                INPUT + "/items/items.csv",
                IntStream.range(0, 1000).mapToObj(i -> i + ",item " + i % 300).toList());
        assertEndsWell(spark.local("expected", "results", hadoop.address(INPUT), hadoop.address(EXPECTED)));
        assertThat(hadoop.read(EXPECTED + "/sql")).hasSize(300);
        assertThat(hadoop.read(EXPECTED + "/records")).hasSize(1000);
    }

    @AfterAll
    void stop() {
        try {
            if (spark != null) {
                spark.close();
            }
        } finally {
            if (hadoop != null) {
                hadoop.close();
            }
        }
    }

    @AfterEach
    void assertNothingLeft() {
        spark.assertNothingLeft();
    }

    private static void assertEndsWell(SparkProcesses.Running driver) throws InterruptedException {
        assertThat(driver.endsWell(150)).as("ended well; %s", driver.log()).isTrue();
    }

    private SparkProcesses.Running results(String name, String deployMode, Map<String, String> settings)
            throws Exception {
        SparkProcesses.Running driver =
                spark.submit(name, deployMode, settings, "results", hadoop.address(INPUT), hadoop.address("/" + name));
        assertEndsWell(driver);
        for (String kind : List.of("/sql", "/records")) {
            assertThat(hadoop.read("/" + name + kind)).as(name + kind).isEqualTo(hadoop.read(EXPECTED + kind));
        }
        return driver;
    }

    private static void assertMemoryWasUsed(LogFile driver) {
        assertThat(driver.lines())
                .anyMatch(line -> line.matches(".*shuffle summary of the application: .*writtenInMemoryBytes=[1-9].*")
                        && line.matches(".*readMappedBytes=[1-9].*")
                        && !line.contains("fetchFailures"))
                .noneMatch(line -> line.contains("spark.executor.memoryOverhead"));
    }

    @Test
    @Shows("YARN, client mode")
    void shouldGiveTheSameResultsInClientMode() throws Exception {
        assertMemoryWasUsed(results("client", "client", SIZES).log());
    }

    @Test
    @Shows("YARN, cluster mode")
    void shouldGiveTheSameResultsInClusterMode() throws Exception {
        results("cluster", "cluster", SIZES);
        assertMemoryWasUsed(hadoop.log("_000001"));
    }

    @Test
    @Shows("YARN with the external shuffle service (Spark's own shuffle)")
    void shouldLeaveShufflesToSparkWithAShuffleService() throws Exception {
        Map<String, String> settings = new HashMap<>(SIZES);
        settings.put("spark.shuffle.service.enabled", "true");
        settings.put("spark.shuffle.service.port", Integer.toString(spark.startShuffleService()));
        List<String> log = results("service", "client", settings).log().lines();
        assertThat(log)
                .as("said once")
                .filteredOn(line -> line.contains("Spark's own shuffle is used from shuffle"))
                .singleElement()
                .asString()
                .contains("WARN", "reason=EXTERNAL_SHUFFLE_SERVICE", "spark.shuffle.service.enabled=true");
        assertThat(log).noneMatch(line -> line.contains("shuffle summary of the application"));
    }

    @Test
    @Shows("YARN, loss of an executor")
    void shouldFinishWhenAnExecutorIsKilled(@TempDir Path signals) throws Exception {
        Signal signal = new Signal(signals);
        SparkProcesses.Running driver =
                spark.submit("loss", "client", SIZES, "loss", signals.toString(), hadoop.address("/loss"));
        signal.await("reading", 2);
        String[] victim = signal.texts("reading").get(0).split(":", 2);
        List<Path> files = filesOf(victim[0]);
        assertThat(files).as("files of executor %s", victim[0]).isNotEmpty();
        ProcessHandle process = ProcessHandle.of(Long.parseLong(victim[1])).orElseThrow();
        assertThat(ProcessHandle.current().descendants()).contains(process);
        assertThat(process.destroyForcibly()).isTrue();
        assertThat(process.onExit().get(30, TimeUnit.SECONDS).isAlive()).isFalse();
        assertThat(filesOf(victim[0])).as("a killed process removes nothing").isEqualTo(files);
        signal.raise("go", "");
        // YARN gives another container, whose executor sweeps the directory at its first use of memory.
        signal.await("both", 1);
        assertThat(filesOf(victim[0])).as("files of the dead executor").isEmpty();
        signal.raise("end", "");
        assertEndsWell(driver);
        assertThat(hadoop.read("/loss").stream().map(Integer::valueOf).sorted())
                .isEqualTo(IntStream.range(0, YarnApp.NUMBERS).boxed().toList());
        assertThat(driver.log().lines())
                .contains(YarnApp.RESULT + "pairs=2")
                .anyMatch(line -> line.contains("Lost executor " + victim[0]));
    }

    private List<Path> filesOf(String executorId) {
        return Cluster.filesOf(spark.sharedMemory(), executorId);
    }
}
