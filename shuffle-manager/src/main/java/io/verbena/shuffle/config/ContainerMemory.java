package io.verbena.shuffle.config;

import java.util.Locale;
import java.util.Optional;
import org.apache.spark.SparkConf;

/**
 * Whether the containers that YARN or Kubernetes give to executors have room for shuffle memory. They kill a process that outgrows
 * its container, and that happens late, when a shuffle fills the memory it was promised.
 */
public final class ContainerMemory {
    private static final String OVERHEAD = "spark.executor.memoryOverhead";
    private static final long MIB = 1L << 20;

    private ContainerMemory() {}

    /**
     * Returns what is too small and what to set, empty if nothing is or if nobody enforces a limit.
     *
     * @param conf the driver's
     */
    public static Optional<String> problem(SparkConf conf, RdmaConf rdma) {
        String master = conf.get("spark.master", "");
        boolean kubernetes = master.startsWith("k8s:");
        if (!kubernetes && !master.startsWith("yarn")) {
            return Optional.empty();
        }
        int cores = conf.getInt("spark.executor.cores", 1);
        long wantedMib = -Math.floorDiv(-(rdma.memorySize() + cores * rdma.stagingSize()), MIB);
        long plainMib = plainOverheadMib(conf, kubernetes);
        long overheadMib = conf.getSizeAsMb(OVERHEAD, plainMib + "m");
        if (overheadMib >= wantedMib) {
            return Optional.empty();
        }
        return Optional.of(String.format(
                Locale.ROOT,
                "executors will be killed when shuffles fill their memory: %s=%dm%s is less than %dm, which"
                        + " spark.shuffle.rdma.memory.size and spark.shuffle.rdma.writer.stagingSize for each core come to;"
                        + " set it to %dm, or lower memory.size",
                OVERHEAD,
                overheadMib,
                conf.contains(OVERHEAD) ? "" : " (Spark's default)",
                wantedMib,
                wantedMib + plainMib));
    }

    /** What Spark reserves beside the heap when nobody says how much. */
    private static long plainOverheadMib(SparkConf conf, boolean kubernetes) {
        double older = kubernetes ? conf.getDouble("spark.kubernetes.memoryOverheadFactor", 0.1) : 0.1;
        double factor = conf.getDouble("spark.executor.memoryOverheadFactor", older);
        return Math.max(
                (long) (factor * conf.getSizeAsMb("spark.executor.memory", "1g")),
                conf.getSizeAsMb("spark.executor.minMemoryOverhead", "384m"));
    }
}
