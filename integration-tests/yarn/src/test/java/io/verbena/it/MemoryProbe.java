package io.verbena.it;

import io.verbena.it.process.SparkProcess;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MemoryProbe {
    static void run(YarnSpark spark, String name, Map<String, String> sizes, String... more) throws Exception {
        Map<String, String> settings = new HashMap<>(sizes);
        settings.put("spark.task.maxFailures", "1");
        settings.put("spark.yarn.executor.failuresValidityInterval", "1h");
        settings.put("spark.executor.extraJavaOptions", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms512m -XX:+AlwaysPreTouch " + LoopbackHosts.jvmOption());
        for (int i = 0; i < more.length; i += 2) {
            settings.put(more[i], more[i + 1]);
        }
        SparkProcess driver = spark.submit(name, "client", settings, "fill", "1280");
        try {
            driver.awaitSuccess(100);
            System.out.println("PROBE " + name + " SUCCESS");
        } catch (IllegalStateException e) {
            System.out.println("PROBE " + name + " " + e.getMessage().split("\n")[0]);
        }
        for (String line : driver.lines()) {
            if (line.matches(".*(result: |memory limits|ExecutorLost|beyond the|summary of|memoryOverhead=).*")) {
                System.out.println("PROBE " + name + " " + line);
            }
        }
    }

    @Test
    void probe(@TempDir Path temporary) throws Exception {
        Map<String, String> documented = YarnSpark.sizes(512);
        try (HadoopCluster hadoop = HadoopCluster.start(temporary.resolve("hadoop-smaps"), Map.of("yarn.nodemanager.container-monitor.procfs-tree.smaps-based-rss.enabled", "true", "yarn.nodemanager.vmem-check-enabled", "false"));
                YarnSpark spark = YarnSpark.on(hadoop, temporary.resolve("a"))) {
            run(spark, "smaps", documented);
            run(spark, "smaps-small", YarnSpark.sizes(512, 384));
        }
        try (HadoopCluster hadoop = HadoopCluster.start(temporary.resolve("hadoop-default"), Map.of());
                YarnSpark spark = YarnSpark.on(hadoop, temporary.resolve("b"))) {
            run(spark, "default", documented);
            run(spark, "default-unmapped", documented, "spark.shuffle.rdma.mapped.enabled", "false");
        }
    }
}
