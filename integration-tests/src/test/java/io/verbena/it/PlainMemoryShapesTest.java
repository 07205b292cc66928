package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Memory without files cannot be mapped by a neighbour, who notices and fetches instead. */
class PlainMemoryShapesTest extends RddShapes {
    @Override
    Map<String, String> settings() {
        return Cluster.settings(
                "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                "spark.shuffle.rdma.memory.backing", "plain",
                // Kryo writes all.
                "spark.shuffle.rdma.pairs.enabled", "false");
    }

    @Override
    ShuffleCounter remoteWay() {
        return ShuffleCounter.READ_NETTY_BYTES;
    }

    @Test
    void shouldLeaveNoFileInSharedMemory() {
        shouldGroupByKey();
        assertThat(cluster.sharedMemory().files()).isEmpty();
        assertThat(cluster.states().stream()
                        .mapToLong(state -> state.counter(ShuffleCounter.PEERS_NOT_MAPPED))
                        .sum())
                .isPositive();
        assertThat(cluster.states()).hasSize(2).allMatch(state -> state.committedBytes() > 0, "memory is committed");
    }
}
