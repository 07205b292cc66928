package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.config.ContainerMemory;
import io.verbena.shuffle.config.RdmaConf;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.ConfigEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Tuple2;

/** Every setting in the templates, active or in a comment, is one that Spark or we know, with a value that is accepted. */
class SettingsTemplatesTest {
    static {
        // Spark registers settings where they are declared, when that is first looked at.
        List<Object> unused = List.of(
                org.apache.spark.internal.config.package$.MODULE$,
                org.apache.spark.deploy.k8s.Config$.MODULE$,
                org.apache.spark.deploy.yarn.config.package$.MODULE$);
        assertThat(unused).doesNotContainNull();
    }

    static List<String> templates() throws IOException {
        return Templates.names(".conf");
    }

    /** Keys that nobody knows; a value that Spark does not accept is an exception. */
    private static List<String> unknownToSpark(SparkConf conf) {
        List<String> unknown = new ArrayList<>();
        for (Tuple2<String, String> setting : conf.getAll()) {
            ConfigEntry<?> entry = ConfigEntry.findEntry(setting._1());
            if (entry != null) {
                assertThat((Object) conf.get(entry)).as(setting._1()).isNotNull();
            } else if (!setting._1().startsWith("spark.shuffle.rdma.")) {
                unknown.add(setting._1());
            }
        }
        return unknown;
    }

    @Test
    void shouldFindAllTemplates() throws IOException {
        assertThat(templates())
                .containsExactly(
                        "spark-defaults-kubernetes.conf", "spark-defaults-standalone.conf", "spark-defaults-yarn.conf");
    }

    @ParameterizedTest
    @MethodSource("templates")
    void shouldHaveSettingsThatSparkAccepts(String name) throws IOException {
        assertThat(unknownToSpark(Templates.settings(name))).isEmpty();
        assertThat(unknownToSpark(Templates.settingsWithComments(name))).isEmpty();
        assertThat(Templates.settings(name).get("spark.shuffle.manager"))
                .isEqualTo("org.apache.spark.shuffle.rdma.RdmaShuffleManager");
    }

    @ParameterizedTest
    @MethodSource("templates")
    void shouldHaveSettingsThatWeAccept(String name) throws IOException {
        assertThat(RdmaConf.from(Templates.settings(name)).memorySize()).isEqualTo(4L << 30);
        assertThat(RdmaConf.from(Templates.settingsWithComments(name)).enabled())
                .isTrue();
    }

    @Test
    void shouldNoticeWhatIsWrong() {
        assertThat(unknownToSpark(new SparkConf(false).set("spark.executor.memoryOverhed", "1g")))
                .containsExactly("spark.executor.memoryOverhed");
        assertThatThrownBy(() -> unknownToSpark(new SparkConf(false).set("spark.shuffle.service.enabled", "no")))
                .hasMessageContaining("spark.shuffle.service.enabled");
        assertThatThrownBy(() -> RdmaConf.from(new SparkConf(false).set("spark.shuffle.rdma.memory.sise", "1g")))
                .hasMessageContaining("spark.shuffle.rdma.memory.sise");
    }

    @ParameterizedTest
    @CsvSource({"spark-defaults-kubernetes.conf, k8s://https://kubernetes.default.svc", "spark-defaults-yarn.conf, yarn"
    })
    void shouldAskForContainersThatCoverShuffleMemory(String name, String master) throws IOException {
        SparkConf conf = Templates.settings(name).set("spark.master", master);
        assertThat(ContainerMemory.problem(conf, RdmaConf.from(conf))).isEmpty();
        long forTheJob = conf.getSizeAsMb("spark.executor.memoryOverhead")
                - conf.getSizeAsMb("spark.shuffle.rdma.memory.size")
                - 8L * conf.getInt("spark.executor.cores", 0);
        assertThat(forTheJob)
                .as("MiB for the job besides shuffle memory and staging, a tenth of the heap")
                .isEqualTo(conf.getSizeAsMb("spark.executor.memory") / 10);
    }
}
