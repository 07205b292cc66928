package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.it.process.Messages;
import io.verbena.it.process.SparkProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.util.ProcfsBasedProcessTree;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Executors whose shuffles fill their memory, on a node manager that kills containers which have more than they asked for. Two ways
 * in which it may count: all that a process has in RAM, which is the default, or that without what it has only mapped for reading.
 */
@Timeout(value = 400, unit = TimeUnit.SECONDS)
@Tag("slow")
class YarnMemoryTest {
    private static final int MEMORY_MIB = 512;
    private static final int SEGMENT_MIB = 64;
    private static final long SECONDS = 120;
    private static final String MAPPED = "spark.shuffle.rdma.mapped.enabled";
    private static final String KILLED = "killed by YARN for exceeding physical memory limits";
    private static final String WARNING = "spark.executor.memoryOverhead=";

    @TempDir
    Path temporary;

    private HadoopCluster cluster(String name, Map<String, String> settings) throws Exception {
        return HadoopCluster.start(temporary.resolve("hadoop-" + getClass().getSimpleName() + name), settings);
    }

    private SparkProcess fill(YarnSpark spark, String name, Map<String, String> sizes, boolean mapped)
            throws Exception {
        Map<String, String> settings = new HashMap<>(sizes);
        if (mapped) {
            settings.put(MAPPED, "true");
        }
        // The first executor that is killed ends the job.
        settings.put("spark.task.maxFailures", "1");
        return spark.submit(
                name,
                "client",
                settings,
                "fill",
                Files.createDirectory(temporary.resolve(name)).toString());
    }

    private void assertStaysInside(HadoopCluster hadoop, YarnSpark spark, String name, boolean mapped)
            throws Exception {
        SparkProcess driver = fill(spark, name, YarnSpark.sizes(MEMORY_MIB), mapped);
        Messages messages = new Messages(temporary.resolve(name));
        messages.await("full", 2, () -> false);
        // Not all segments of both executors are full, but most.
        assertThat(messages.texts("full"))
                .allSatisfy(text -> assertThat(Long.parseLong(text.split(" ", 2)[1]))
                        .as("KiB of shared memory; private and shared: %s", text)
                        .isGreaterThanOrEqualTo((mapped ? 2L : 1L) * (MEMORY_MIB - 2 * SEGMENT_MIB) * 1024));
        hadoop.awaitMemoryChecks();
        messages.raise("go", "");
        assertThat(driver.awaitSuccess(SECONDS))
                .contains(YarnApp.RESULT + "bytes=" + YarnApp.FILL_BYTES)
                .noneMatch(line -> line.contains("memory limits"))
                .noneMatch(line -> line.contains(WARNING));
    }

    private List<String> killed(YarnSpark spark, String name, Map<String, String> sizes, boolean mapped)
            throws Exception {
        List<String> log = fill(spark, name, sizes, mapped).awaitFailure(SECONDS);
        assertThat(log).anyMatch(line -> line.contains(KILLED));
        return log;
    }

    @Test
    void shouldKeepToTheLimitWhereAllThatIsMappedCounts() throws Exception {
        try (HadoopCluster hadoop = cluster("", Map.of());
                YarnSpark spark = YarnSpark.on(hadoop, temporary)) {
            assertStaysInside(hadoop, spark, "unmapped", false);

            assertThat(killed(spark, "small", YarnSpark.sizes(MEMORY_MIB, YarnSpark.PLAIN_OVERHEAD_MIB), false))
                    .as("warned before")
                    .filteredOn(line -> line.contains(WARNING))
                    .singleElement()
                    .asString()
                    .contains("WARN", WARNING + "384m is less than 520m", "set it to 904m");

            assertThat(killed(spark, "mapped", YarnSpark.sizes(MEMORY_MIB), true))
                    .as("neighbours' memory counts as well, of which the driver does not know")
                    .noneMatch(line -> line.contains(WARNING));
        }
    }

    @Test
    void shouldKeepToTheLimitWithMappedNeighboursThatDoNotCount() throws Exception {
        Map<String, String> settings = Map.of(
                YarnConfiguration.PROCFS_USE_SMAPS_BASED_RSS_ENABLED,
                "true",
                // The default means the same class, but without its settings.
                YarnConfiguration.NM_CONTAINER_MON_PROCESS_TREE,
                ProcfsBasedProcessTree.class.getName());
        try (HadoopCluster hadoop = cluster("-smaps", settings);
                YarnSpark spark = YarnSpark.on(hadoop, temporary)) {
            assertStaysInside(hadoop, spark, "mapped", true);
        }
    }
}
