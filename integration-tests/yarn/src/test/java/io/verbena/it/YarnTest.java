package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Messages;
import io.verbena.it.process.SparkProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
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
    private static final int ORDERS = 50_000;
    private static final int ITEMS = 1000;
    private static final int NAMES = 300;
    private static final long SECONDS = 150;
    private static final Map<String, String> SIZES = YarnSpark.sizes(128);
    private static final Map<String, String> MAPPED = mapped();

    private HadoopCluster hadoop;
    private YarnSpark spark;

    @BeforeAll
    void start(@TempDir Path temporary) throws Exception {
        hadoop = HadoopCluster.start(temporary.resolve("hadoop-" + YarnTest.class.getSimpleName()), Map.of());
        spark = YarnSpark.on(hadoop, temporary);
        hadoop.write(
                INPUT + "/orders/orders.csv",
                orders().map(order -> order.item() + "," + order.amount()).toList());
        hadoop.write(
                INPUT + "/items/items.csv",
                IntStream.range(0, ITEMS).mapToObj(i -> i + "," + nameOf(i)).toList());
    }

    private static Map<String, String> mapped() {
        Map<String, String> settings = new TreeMap<>(SIZES);
        settings.put("spark.shuffle.rdma.mapped.enabled", "true");
        return settings;
    }

    private record Order(int item, long amount) {}

    private static Stream<Order> orders() {
        return IntStream.range(0, ORDERS).mapToObj(i -> new Order(i * 7919 % ITEMS, i % 100));
    }

    private static String nameOf(int item) {
        return "item " + item % NAMES;
    }

    /** What the query gives: name, sum and number of amounts. */
    private static List<String> expectedOfQuery() {
        Map<String, LongSummaryStatistics> amounts = orders().collect(Collectors.groupingBy(
                order -> nameOf(order.item()), TreeMap::new, Collectors.summarizingLong(Order::amount)));
        return amounts.entrySet().stream()
                .map(entry -> entry.getKey() + "," + entry.getValue().getSum() + ","
                        + entry.getValue().getCount())
                .toList();
    }

    /** What the job on records gives: item, sum of amounts, in the order of text. */
    private static List<String> expectedOfRecords() {
        Map<String, Long> amounts = orders().collect(Collectors.groupingBy(
                order -> Integer.toString(order.item()), TreeMap::new, Collectors.summingLong(Order::amount)));
        return amounts.entrySet().stream()
                .map(entry -> entry.getKey() + "," + entry.getValue())
                .toList();
    }

    @AfterAll
    void stop() throws IOException {
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

    private List<String> results(String deployMode, Map<String, String> settings) throws Exception {
        String output = "/" + deployMode;
        List<String> log = spark.submit(
                        deployMode, deployMode, settings, "results", hadoop.address(INPUT), hadoop.address(output))
                .awaitSuccess(SECONDS);
        assertThat(hadoop.read(output + "/sql")).isEqualTo(expectedOfQuery());
        assertThat(hadoop.read(output + "/records")).isEqualTo(expectedOfRecords());
        return log;
    }

    private static void assertMemoryWasUsed(List<String> driver, String way) {
        assertThat(driver)
                .anyMatch(line -> line.matches(".*shuffle summary of the application: .*writtenInMemoryBytes=[1-9].*")
                        && line.matches(".*" + way + "=[1-9].*")
                        && !line.contains("fetchFailures"))
                .noneMatch(line -> line.contains("spark.executor.memoryOverhead="));
    }

    @Test
    void shouldGiveTheSameResultsInClientMode() throws Exception {
        List<String> driver = results("client", SIZES);
        assertMemoryWasUsed(driver, "readNettyBytes");
        assertThat(driver).noneMatch(line -> line.matches(".*readMappedBytes=[1-9].*"));
        assertThat(hadoop.log("_000002"))
                .as("an executor's, without a setting")
                .anyMatch(line -> line.contains("executors of this host are not read in place"));
    }

    @Test
    void shouldGiveTheSameResultsInClusterMode() throws Exception {
        results("cluster", MAPPED);
        assertMemoryWasUsed(hadoop.log("_000001"), "readMappedBytes");
    }

    @Test
    void shouldFinishWhenAnExecutorIsKilled(@TempDir Path directory) throws Exception {
        Messages messages = new Messages(directory);
        SparkProcess driver =
                spark.submit("loss", "client", MAPPED, "loss", directory.toString(), hadoop.address("/loss"));
        messages.await("reading", 2, () -> false);
        String[] victim = messages.texts("reading").get(0).split(":", 2);
        List<Path> files = spark.sharedMemory().filesOf(victim[0]);
        assertThat(files).as("files of executor %s", victim[0]).isNotEmpty();
        ProcessHandle process = ProcessHandle.of(Long.parseLong(victim[1])).orElseThrow();
        assertThat(ProcessHandle.current().descendants()).contains(process);
        assertThat(process.destroyForcibly()).isTrue();
        assertThat(process.onExit().get(30, TimeUnit.SECONDS).isAlive()).isFalse();
        assertThat(spark.sharedMemory().filesOf(victim[0]))
                .as("a killed process removes nothing")
                .isEqualTo(files);
        messages.raise("go", "");
        // YARN gives another container, whose executor sweeps the directory at its first use of memory.
        messages.await("both", 1, () -> false);
        assertThat(spark.sharedMemory().filesOf(victim[0]))
                .as("files of the dead executor")
                .isEmpty();
        messages.raise("end", "");
        List<String> log = driver.awaitSuccess(SECONDS);
        assertThat(hadoop.read("/loss").stream().map(Integer::valueOf).sorted())
                .isEqualTo(IntStream.range(0, YarnApp.NUMBERS).boxed().toList());
        assertThat(log)
                .contains(YarnApp.RESULT + "pairs=2")
                .anyMatch(line -> line.contains("Lost executor " + victim[0]));
    }
}
