package io.verbena.it;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.Map;

/** Executors on one host that may not map one another: everything remote comes over Spark's block transfer. */
class NettyShapesTest extends RddShapes {
    @Override
    Map<String, String> settings() {
        return Cluster.settings(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.shuffle.rdma.mapped.enabled", "false");
    }

    @Override
    ShuffleCounter remoteWay() {
        return ShuffleCounter.READ_NETTY_BYTES;
    }
}
