package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.shuffle.metrics.ShuffleCounter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import scala.Tuple2;

/** One block above 2 GiB, which no Java buffer holds, read by the executor that did not write it. */
@Tag("slow")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
class LargeBlockTest {
    private static final int RECORD_BYTES = 1 << 20;
    private static final int RECORDS = 2100;

    @TempDir
    Path signals;

    /** Everything goes to partition 0; partition 1 is there to be read without reading anything. */
    private static final class ToFirst extends Partitioner {
        private static final long serialVersionUID = 1L;

        @Override
        public int numPartitions() {
            return 2;
        }

        @Override
        public int getPartition(Object key) {
            return 0;
        }
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void shouldReadABlockAboveTwoGigabytes(boolean mapped) throws Exception {
        Counted counted = Counted.fromNow();
        try (Cluster cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer",
                        "spark.shuffle.rdma.memory.size", "3g",
                        "spark.shuffle.rdma.memory.segmentSize", "64m",
                        "spark.shuffle.rdma.memory.highWaterMark", "1.0",
                        "spark.shuffle.rdma.fetch.timeout", "180s",
                        "spark.shuffle.rdma.mapped.enabled", Boolean.toString(mapped)))) {
            Signal signal = new Signal(Files.createDirectory(signals.resolve("signals")));
            JavaPairRDD<Integer, byte[]> shuffled = cluster.context()
                    .parallelize(List.of(0), 1)
                    .flatMapToPair(zero -> {
                        signal.fromTask("mapped");
                        return IntStream.range(0, RECORDS)
                                .mapToObj(i -> new Tuple2<>(i, content(i)))
                                .iterator();
                    })
                    .partitionBy(new ToFirst());
            assertThat(shuffled.collectPartitions(new int[] {1})[0]).isEmpty();
            assertThat(counted.of(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .as("%s", counted)
                    .isGreaterThan(Integer.MAX_VALUE);
            String writer = signal.texts("mapped").get(0).split(":", 2)[0];

            JavaFutureAction<Long> blocker = occupy(cluster.context(), signal, writer);
            String found;
            try {
                found = shuffled.mapPartitions(LargeBlockTest::check, true)
                        .collectPartitions(new int[] {0})[0]
                        .get(0);
            } finally {
                signal.raise("go", "");
            }
            assertThat(blocker.get(60, TimeUnit.SECONDS)).isEqualTo(2);

            // Executors are called 0 and 1.
            String reader = writer.equals("0") ? "1" : "0";
            long checksum = IntStream.range(0, RECORDS)
                    .mapToLong(i -> (long) i * checksum(content(i)))
                    .sum();
            assertThat(found).isEqualTo(reader + ": " + RECORDS + " records, checksum " + checksum);
            assertThat(counted.of(mapped ? ShuffleCounter.READ_MAPPED_BYTES : ShuffleCounter.READ_NETTY_BYTES))
                    .as("%s", counted)
                    .isGreaterThan(Integer.MAX_VALUE);
            assertThat(counted.of(ShuffleCounter.READ_SELF_BYTES)).isZero();
        }
    }

    /** Keeps the only core of one executor busy until "go", so that the next task runs on the other. */
    private static JavaFutureAction<Long> occupy(JavaSparkContext context, Signal signal, String executor) {
        JavaFutureAction<Long> blocker = context.parallelize(List.of(0, 1), 2)
                .map(i -> {
                    boolean here = SparkEnv.get().executorId().equals(executor);
                    signal.fromTask(here ? "occupied" : "free");
                    if (here) {
                        signal.await("go", 1);
                    } else {
                        // Both executors must take part: an idle one would not be the one to occupy.
                        signal.await("occupied", 1);
                    }
                    return i;
                })
                .countAsync();
        signal.await("occupied", 1);
        signal.await("free", 1);
        return blocker;
    }

    /** Which executor found how much: enough to tell a wrong, missing or repeated record. */
    private static Iterator<String> check(Iterator<Tuple2<Integer, byte[]>> records) {
        long count = 0;
        long sum = 0;
        while (records.hasNext()) {
            Tuple2<Integer, byte[]> record = records.next();
            count++;
            sum += (long) record._1() * checksum(record._2());
        }
        return List.of(SparkEnv.get().executorId() + ": " + count + " records, checksum " + sum)
                .iterator();
    }

    /** Differs per record, and cheap to make: the machine has better things to do than to draw random numbers. */
    private static byte[] content(int i) {
        byte[] bytes = new byte[RECORD_BYTES];
        for (int offset = 0; offset < bytes.length; offset += 4096) {
            bytes[offset] = (byte) (i + offset / 4096);
            bytes[offset + 1] = (byte) (i >>> 8);
        }
        return bytes;
    }

    private static int checksum(byte[] bytes) {
        int sum = bytes.length;
        for (int offset = 0; offset < bytes.length; offset += 2048) {
            sum = 31 * sum + bytes[offset] + 7 * bytes[offset + 1];
        }
        return sum;
    }
}
