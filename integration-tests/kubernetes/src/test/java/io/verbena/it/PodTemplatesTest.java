package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.verbena.shuffle.config.RdmaConf;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.k8s.KubernetesConf$;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import scala.Option;

/** The pod templates, against Kubernetes' schema and as Spark makes executors of them; no cluster is needed for either. */
class PodTemplatesTest {
    private static final String PLAIN = "kubernetes-executor-pod.yaml";
    private static final String RDMA = "kubernetes-executor-pod-rdma.yaml";
    private static final String SETTINGS = "spark-defaults-kubernetes.conf";

    static List<String> templates() throws IOException {
        return Templates.names(".yaml");
    }

    @Test
    void shouldFindAllTemplates() throws IOException {
        assertThat(templates()).containsExactly(RDMA, PLAIN);
    }

    @ParameterizedTest
    @MethodSource("templates")
    void shouldFollowTheSchema(String name) throws IOException {
        assertThatCode(() -> PodSchema.check(Templates.text(name))).doesNotThrowAnyException();
    }

    private static String edited(String name, String from, String to) throws IOException {
        String text = Templates.text(name);
        assertThat(text).contains(from);
        return text.replace(from, to);
    }

    @Test
    void shouldNoticeAnUnknownField() throws IOException {
        String yaml = edited(PLAIN, "mountPath:", "mountPaht:");
        assertThatThrownBy(() -> PodSchema.check(yaml))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("\"mountPaht\"")
                .hasMessageMatching("(?s).*\\[\"spec\"].*\\[\"containers\"].*\\[0].*\\[\"volumeMounts\"].*\\[0].*");
    }

    @Test
    void shouldNoticeAWrongType() throws IOException {
        String yaml =
                edited(PLAIN, "        - name: shm\n          mountPath: /dev/shm", "        mountPath: /dev/shm");
        assertThatThrownBy(() -> PodSchema.check(yaml))
                .isInstanceOf(IOException.class)
                .hasMessageMatching("(?s).*\\[\"spec\"].*\\[\"containers\"].*\\[0].*\\[\"volumeMounts\"].*");
    }

    @Test
    void shouldNoticeAMissingField() throws IOException {
        String yaml = edited(PLAIN, "          mountPath: /dev/shm\n", "");
        assertThatThrownBy(() -> PodSchema.check(yaml))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("mountPath");
    }

    @ParameterizedTest
    @MethodSource("templates")
    void shouldBecomeExecutorsWithRoomForShuffleMemory(String name) throws IOException {
        SparkConf conf = settings(name);
        SparkPod pod = executor(conf);
        PodSchema.check(Serialization.asYaml(new io.fabric8.kubernetes.api.model.PodBuilder(pod.pod())
                .editSpec()
                .addToContainers(pod.container())
                .endSpec()
                .build()));

        long memory = RdmaConf.from(conf).memorySize();
        VolumeMount mount = pod.container().getVolumeMounts().stream()
                .filter(candidate -> candidate.getMountPath().equals("/dev/shm"))
                .findFirst()
                .orElseThrow();
        Volume volume = pod.pod().getSpec().getVolumes().stream()
                .filter(candidate -> candidate.getName().equals(mount.getName()))
                .findFirst()
                .orElseThrow();
        assertThat(mount.getReadOnly()).isNotEqualTo(true);
        assertThat(volume.getEmptyDir().getMedium()).isEqualTo("Memory");
        assertThat(bytes(volume.getEmptyDir().getSizeLimit()))
                .as("bytes of /dev/shm")
                .isGreaterThanOrEqualTo(memory);

        Map<String, Quantity> limits = pod.container().getResources().getLimits();
        long heap = conf.getSizeAsBytes("spark.executor.memory");
        assertThat(bytes(limits.get("memory")))
                .as("bytes of the container")
                .isEqualTo(heap + conf.getSizeAsBytes("spark.executor.memoryOverhead"))
                .isGreaterThanOrEqualTo(heap + heap / 10 + memory);
        assertThat(pod.container().getResources().getRequests()).containsEntry("memory", limits.get("memory"));
    }

    @Test
    void shouldAskForADeviceAndForLockedMemoryWithRdmaOnly() throws IOException {
        Container rdma = executor(settings(RDMA)).container();
        assertThat(rdma.getResources().getLimits())
                .containsEntry("rdma/hca_shared_devices_a", new Quantity("1"))
                .containsKey("memory");
        assertThat(rdma.getSecurityContext().getCapabilities().getAdd()).containsExactly("IPC_LOCK");

        Container plain = executor(settings(PLAIN)).container();
        assertThat(plain.getResources().getLimits()).containsOnlyKeys("memory");
        assertThat(plain.getSecurityContext()).isNull();
    }

    /** The template of settings, with what a user or {@code spark-submit} adds. */
    private static SparkConf settings(String podTemplate) throws IOException {
        SparkConf conf = Templates.settings(SETTINGS);
        assertThat(conf.get("spark.kubernetes.executor.podTemplateFile")).endsWith("/" + PLAIN);
        return conf.set(
                        "spark.kubernetes.executor.podTemplateFile",
                        Templates.file(podTemplate).toString())
                .set("spark.kubernetes.container.image", "spark")
                .set("spark.kubernetes.executor.podNamePrefix", "verbena-it")
                .set("spark.driver.host", "127.0.0.1")
                .set("spark.driver.port", "7078");
    }

    private static SparkPod executor(SparkConf conf) {
        try (KubernetesClient client =
                new KubernetesClientBuilder().withConfig(Config.empty()).build()) {
            return new KubernetesExecutorBuilder()
                    .buildFromFeatures(
                            KubernetesConf$.MODULE$.createExecutorConf(
                                    conf, "1", "spark-verbena-it", Option.empty(), 0),
                            new SecurityManager(
                                    conf,
                                    Option.empty(),
                                    org.apache.spark.internal.config.package$.MODULE$.AUTH_SECRET_FILE()),
                            client,
                            ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf))
                    .pod();
        }
    }

    private static long bytes(Quantity quantity) {
        return Quantity.getAmountInBytes(quantity).longValueExact();
    }
}
