package io.verbena.shuffle.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContainerMemoryTest {
    private static final String OVERHEAD = "spark.executor.memoryOverhead";

    private static Optional<String> problem(String master, String... keysAndValues) {
        SparkConf conf = new SparkConf(false)
                .set("spark.master", master)
                .set("spark.executor.memory", "16g")
                .set("spark.executor.cores", "8")
                .set("spark.shuffle.rdma.memory.size", "4g");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            conf.set(keysAndValues[i], keysAndValues[i + 1]);
        }
        return ContainerMemory.problem(conf, RdmaConf.from(conf));
    }

    @ParameterizedTest
    @ValueSource(strings = {"yarn", "k8s://https://kubernetes.default.svc"})
    void shouldNameSparksDefaultWhenItDoesNotCoverShuffleMemory(String master) {
        assertThat(problem(master))
                .get()
                .asString()
                .contains(OVERHEAD + "=1638m (Spark's default) is less than 4160m", "set it to 5798m");
    }

    @Test
    void shouldAcceptWhatCoversShuffleMemoryToTheMebibyte() {
        assertThat(problem("yarn", OVERHEAD, "4159"))
                .get()
                .asString()
                .contains(OVERHEAD + "=4159m is less than 4160m")
                .doesNotContain("default");
        assertThat(problem("yarn", OVERHEAD, "4160")).isEmpty();
        assertThat(problem("yarn", OVERHEAD, "4160", "spark.shuffle.rdma.writer.stagingSize", "8193k"))
                .as("a part of a mebibyte counts")
                .isPresent();
    }

    @Test
    void shouldFollowTheFactorsThatSparkFollows() {
        assertThat(problem("yarn", "spark.executor.memoryOverheadFactor", "0.3"))
                .isEmpty();
        assertThat(problem("k8s://host", "spark.kubernetes.memoryOverheadFactor", "0.3"))
                .isEmpty();
        assertThat(problem("yarn", "spark.kubernetes.memoryOverheadFactor", "0.3"))
                .isPresent();
        assertThat(problem("yarn", "spark.executor.minMemoryOverhead", "5g")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"local[2]", "local-cluster[2,1,1024]", "spark://host:7077"})
    void shouldSayNothingWhereNobodyEnforcesALimit(String master) {
        assertThat(problem(master)).isEmpty();
    }
}
