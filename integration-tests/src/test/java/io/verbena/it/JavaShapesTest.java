package io.verbena.it;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.Map;

/** Java's serialisation cannot relocate objects: Spark's own writers run, with their output in memory. */
class JavaShapesTest extends RddShapes {
    @Override
    Map<String, String> settings() {
        return Cluster.settings("spark.serializer", "org.apache.spark.serializer.JavaSerializer");
    }

    @Override
    ShuffleCounter remoteWay() {
        return ShuffleCounter.READ_MAPPED_BYTES;
    }
}
