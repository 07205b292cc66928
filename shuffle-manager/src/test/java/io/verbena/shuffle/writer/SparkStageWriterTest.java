package io.verbena.shuffle.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.shuffle.testing.LocalSpark;
import io.verbena.shuffle.testing.TestExecutor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Random;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;

@Timeout(60)
class SparkStageWriterTest {
    private static final int SHUFFLE = 3;
    private static final long MAP_ID = 5;

    @TempDir
    Path folder;

    private static byte[] block(int partition) {
        // Partition 4 is more than three staging buffers; every third is empty.
        byte[] bytes = new byte[partition == 4 ? 200_000 : partition % 3 == 0 ? 0 : 100 * partition];
        new Random(partition).nextBytes(bytes);
        return bytes;
    }

    private static void write(SparkStageWriter writer, int partition) throws IOException {
        ShufflePartitionWriter out = writer.getPartitionWriter(partition);
        byte[] bytes = block(partition);
        try (OutputStream stream = out.openStream()) {
            if (bytes.length > 0) {
                stream.write(bytes[0]);
                stream.write(bytes, 1, bytes.length - 1);
            }
        }
        assertThat(out.getNumBytesWritten()).isEqualTo(bytes.length);
    }

    private static byte[] stored(TestExecutor executor, int partition) throws IOException {
        MapOutput output = executor.store().get(SHUFFLE, MAP_ID);
        if (output instanceof MapOutput.OnDisk) {
            return executor.local()
                    .getBlockData(new ShuffleBlockId(SHUFFLE, MAP_ID, partition), Option.empty())
                    .createInputStream()
                    .readAllBytes();
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (RunImage run : ((MapOutput.InMemory) output).open()) {
            run.verify(partition);
            byte[] slice = new byte[(int) run.sliceLength(partition)];
            run.slice(partition).get(slice);
            all.writeBytes(slice);
        }
        return all.toByteArray();
    }

    /** In memory, partly in memory (which ends on disk), and with no memory at all. */
    @ParameterizedTest
    @ValueSource(ints = {8, 1, 0})
    void shouldKeepWhatSparksWritersWrite(int segments) throws IOException {
        try (TestExecutor executor = new TestExecutor("map", folder, 1 << 17, segments, 1 << 16, false, null)) {
            SparkStageWriter writer = new SparkStageWriter(
                    executor.writers(), executor.counters(), SHUFFLE, MAP_ID, 10, LocalSpark.task(1 << 24));
            for (int p : new int[] {0, 1, 2, 4, 5, 8}) {
                write(writer, p);
            }
            assertThat(executor.store().get(SHUFFLE, MAP_ID)).isNull();
            long[] lengths = writer.commitAllPartitions(new long[0]).getPartitionLengths();
            for (int p = 0; p < 10; p++) {
                byte[] expected = p == 3 || p == 6 || p == 7 || p == 9 ? new byte[0] : block(p);
                assertThat(stored(executor, p)).isEqualTo(expected);
                assertThat(lengths[p]).isEqualTo(expected.length);
            }
            MapOutput output = executor.store().get(SHUFFLE, MAP_ID);
            assertThat(output instanceof MapOutput.InMemory memory && memory.layout() == BlockLayout.SPARK)
                    .isEqualTo(segments == 8);
            // Spark aborts after a failure of its own, too.
            writer.abort(new IOException("too late"));
            assertThat(executor.store().get(SHUFFLE, MAP_ID)).isSameAs(output);
            assertThat(stored(executor, 4)).isEqualTo(block(4));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 1, 0})
    void shouldLeaveNothingWhenAborted(int segments) throws IOException {
        try (TestExecutor executor = new TestExecutor("map", folder, 1 << 17, segments, 1 << 16, false, null)) {
            SparkStageWriter writer = new SparkStageWriter(
                    executor.writers(), executor.counters(), SHUFFLE, MAP_ID, 10, LocalSpark.task(1 << 24));
            write(writer, 4);
            writer.abort(new IOException("the task fails"));
            writer.abort(new IOException("again"));
            assertThat(executor.memory().arena().statistics().leases()).isZero();
            assertThat(executor.store().shuffleIds()).isEmpty();
            assertThat(executor.scratchFiles()).isEmpty();
            assertThat(executor.local().names()).isEmpty();
        }
    }

    @Test
    void shouldRefusePartitionsOutOfOrder() throws IOException {
        try (TestExecutor executor = new TestExecutor("map", folder, 1 << 17, 1, 1 << 16, false, null)) {
            SparkStageWriter writer = new SparkStageWriter(
                    executor.writers(), executor.counters(), SHUFFLE, MAP_ID, 3, LocalSpark.task(1 << 24));
            write(writer, 1);
            for (int wrong : new int[] {0, 1, 3, -1}) {
                assertThatThrownBy(() -> writer.getPartitionWriter(wrong))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("got=" + wrong);
            }
            writer.abort(new IOException("done"));
        }
    }
}
