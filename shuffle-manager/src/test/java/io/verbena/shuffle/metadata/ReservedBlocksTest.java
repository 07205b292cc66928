package io.verbena.shuffle.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;

/** Names as Spark's OneForOneBlockFetcher takes them apart: split at underscores, and each part parsed as a number. */
class ReservedBlocksTest {
    private static String[] split(String name) {
        String[] parts = name.split("_", -1);
        assertThat(parts.length).isBetween(4, 5);
        assertThat(parts[0]).isEqualTo("shuffle");
        return parts;
    }

    /** What NettyBlockRpcServer makes of the numbers. */
    private static BlockId rebuilt(String name) {
        String[] parts = split(name);
        int shuffleId = Integer.parseInt(parts[1]);
        long mapId = Long.parseLong(parts[2]);
        int reduceId = Integer.parseInt(parts[3]);
        return parts.length == 4
                ? new ShuffleBlockId(shuffleId, mapId, reduceId)
                : new ShuffleBlockBatchId(shuffleId, mapId, reduceId, Integer.parseInt(parts[4]));
    }

    @Test
    void shouldNameTheEndpoint() {
        assertThat(rebuilt(ReservedBlocks.endpoint()))
                .isEqualTo(new ShuffleBlockId(0, ReservedBlocks.ENDPOINT_MAP_ID, 0));
    }

    @Test
    void shouldNameDirectories() {
        for (int shuffleId : new int[] {0, 1, 77, Integer.MAX_VALUE}) {
            assertThat(rebuilt(ReservedBlocks.directory(shuffleId)))
                    .isEqualTo(new ShuffleBlockId(shuffleId, ReservedBlocks.DIRECTORY_MAP_ID, 0));
        }
    }

    @Test
    void shouldCarryTheRangeOfAFrame() {
        int last = Integer.MAX_VALUE - 1;
        int[] ids = {0, 1, 2, 199, 1 << 20, last - 1, last};
        for (long mapId : new long[] {0, 1, 1L << 40, Long.MAX_VALUE}) {
            for (int start : ids) {
                for (int end : ids) {
                    String name = ReservedBlocks.frame(5, mapId, start, end);
                    ShuffleBlockBatchId id = (ShuffleBlockBatchId) rebuilt(name);
                    assertThat(id.shuffleId()).isEqualTo(5);
                    assertThat(id.mapId()).isEqualTo(mapId);
                    assertThat(ReservedBlocks.isFrame(id.startReduceId(), id.endReduceId()))
                            .isTrue();
                    assertThat(ReservedBlocks.isPin(id.startReduceId(), id.endReduceId()))
                            .isFalse();
                    assertThat(ReservedBlocks.encodeReduceId(id.startReduceId()))
                            .isEqualTo(start);
                    assertThat(ReservedBlocks.encodeReduceId(id.endReduceId())).isEqualTo(end);
                }
            }
        }
    }

    @Test
    void shouldCarryTheRangeOfAFile() {
        for (int start : new int[] {0, 1, 199, Integer.MAX_VALUE - 1}) {
            for (int end : new int[] {0, 1, 200, Integer.MAX_VALUE}) {
                ShuffleBlockBatchId id = (ShuffleBlockBatchId) rebuilt(ReservedBlocks.pin(5, 1L << 40, start, end));
                assertThat(id.mapId()).isEqualTo(1L << 40);
                assertThat(ReservedBlocks.isPin(id.startReduceId(), id.endReduceId()))
                        .isTrue();
                assertThat(ReservedBlocks.isFrame(id.startReduceId(), id.endReduceId()))
                        .isFalse();
                assertThat(ReservedBlocks.encodeReduceId(id.startReduceId())).isEqualTo(start);
                assertThat(id.endReduceId()).isEqualTo(end);
            }
        }
    }

    @Test
    void shouldNotMeetABlockOfSparks() {
        for (int start : new int[] {0, 1, Integer.MAX_VALUE}) {
            assertThat(ReservedBlocks.isFrame(start, Integer.MAX_VALUE)).isFalse();
            assertThat(ReservedBlocks.isPin(start, Integer.MAX_VALUE)).isFalse();
        }
        assertThat(ReservedBlocks.ENDPOINT_MAP_ID).isNegative();
        assertThat(ReservedBlocks.DIRECTORY_MAP_ID).isNegative().isNotEqualTo(ReservedBlocks.ENDPOINT_MAP_ID);
    }
}
