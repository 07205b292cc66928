package io.verbena.shuffle.writer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.OffHeap;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.pairs.PairDecoder;
import io.verbena.shuffle.resolver.ByteBufferStream;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.shuffle.resolver.StockRowStream;
import io.verbena.shuffle.testing.LocalSpark;
import io.verbena.shuffle.testing.TestExecutor;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.UnsafeRowSerializer;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;

/** Every record that goes in comes out of the same partition, in order, however it is stored. */
@Timeout(120)
class ScatterWriterTest {
    private static final int FIELDS = 2;
    private static final int STAGING = 1 << 16;
    private static final long MAP_ID = 17;
    private static final byte[] KEY = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    @TempDir
    Path folder;

    /** A record: its partition and its bytes, which for rows are a multiple of 8. */
    private static final class Rec {
        private final int partition;
        private final byte[] bytes;

        Rec(int partition, byte[] bytes) {
            this.partition = partition;
            this.bytes = bytes;
        }

        int partition() {
            return partition;
        }

        byte[] bytes() {
            return bytes;
        }
    }

    private enum Records {
        ROWS,
        SERIALIZED,
        PAIRS,
        /** As PAIRS, with values that only the serializer knows. */
        OBJECTS;

        boolean arePairs() {
            return this == PAIRS || this == OBJECTS;
        }
    }

    private record Kind(Records records, boolean compress, boolean encrypt) {
        boolean rows() {
            return records == Records.ROWS;
        }

        Serializer serializer() {
            return rows() ? new UnsafeRowSerializer(FIELDS, null) : new KryoSerializer(new SparkConf(false));
        }

        BlockLayout layout() {
            if (compress) {
                return BlockLayout.WRAPPED;
            }
            if (encrypt) {
                return BlockLayout.ENCRYPTED;
            }
            return switch (records) {
                case ROWS -> BlockLayout.ROWS;
                case SERIALIZED -> BlockLayout.RECORDS;
                case PAIRS, OBJECTS -> BlockLayout.PAIRS;
            };
        }
    }

    private static List<Rec> random(Random random, int partitions, int count, int maxBytes) {
        List<Rec> records = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[24 + random.nextInt(maxBytes / 8) * 8];
            random.nextBytes(bytes);
            records.add(new Rec(random.nextInt(partitions), bytes));
        }
        return records;
    }

    private static scala.collection.Iterator<Product2<Object, Object>> iterator(Kind kind, List<Rec> records) {
        java.util.Iterator<Rec> all = records.iterator();
        UnsafeRow row = new UnsafeRow(FIELDS);
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return all.hasNext();
            }

            @Override
            public Product2<Object, Object> next() {
                Rec record = all.next();
                if (!kind.rows()) {
                    Object value = record.bytes();
                    return new Tuple2<>(
                            record.partition(),
                            kind.records() == Records.OBJECTS ? new ArrayList<>(List.of(value, value)) : value);
                }
                // One row object for all, as Spark SQL does it.
                row.pointTo(record.bytes(), record.bytes().length);
                return new Tuple2<>(record.partition(), row);
            }
        };
    }

    private TestExecutor executor(Kind kind, long segmentBytes, int segments, int staging) {
        return new TestExecutor(
                "map", folder, segmentBytes, segments, staging, kind.compress(), kind.encrypt() ? KEY : null);
    }

    private static ScatterWriter<Object, Object> writer(
            Kind kind, TestExecutor executor, ShuffleDependency<Object, Object, Object> dependency, TaskContext task) {
        return new ScatterWriter<>(
                executor.writers(),
                dependency,
                RowFormat.of(dependency.serializer()),
                kind.records().arePairs(),
                executor.counters(),
                executor.id(),
                MAP_ID,
                task,
                task.taskMetrics().shuffleWriteMetrics());
    }

    /** The streams Spark would decode for one block. */
    private static List<InputStream> streams(TestExecutor executor, ShuffleBlockId id) throws IOException {
        MapOutput output = executor.store().get(id.shuffleId(), MAP_ID);
        if (output instanceof MapOutput.OnDisk) {
            // Spark's own resolver and Spark's own format.
            ManagedBuffer file = executor.local().getBlockData(id, Option.empty());
            return file.size() == 0
                    ? List.of()
                    : List.of(executor.serializers().wrapStream(id, file.createInputStream()));
        }
        MapOutput.InMemory memory = (MapOutput.InMemory) output;
        List<InputStream> streams = new ArrayList<>();
        for (RunImage run : memory.open()) {
            run.verify(id.reduceId());
            ByteBuffer slice = run.slice(id.reduceId());
            if (!slice.hasRemaining()) {
                continue;
            }
            streams.add(
                    switch (memory.layout()) {
                        case ROWS -> new StockRowStream(slice);
                        case RECORDS, SPARK -> new ByteBufferStream(slice);
                        case ENCRYPTED -> executor.serializers().wrapForEncryption(new ByteBufferStream(slice));
                        case PAIRS -> throw new IllegalStateException("no stream");
                        case WRAPPED -> executor.serializers().wrapStream(id, new ByteBufferStream(slice));
                    });
        }
        return memory.layout().isPlain() ? List.of(new SequenceInputStream(Collections.enumeration(streams))) : streams;
    }

    private static byte[] bytes(Object value) {
        if (value instanceof List<?> list) {
            assertThat(list).hasSize(2);
            // One object to Kryo, so it stays one.
            assertThat(list.get(1)).isSameAs(list.get(0));
            return (byte[]) list.get(0);
        }
        return (byte[]) value;
    }

    private static List<byte[]> block(
            Kind kind, SerializerInstance serializer, TestExecutor executor, ShuffleBlockId id) throws IOException {
        List<byte[]> records = new ArrayList<>();
        if (executor.store().get(id.shuffleId(), MAP_ID) instanceof MapOutput.InMemory memory
                && memory.layout() == BlockLayout.PAIRS) {
            PairDecoder decoder = new PairDecoder(serializer);
            for (RunImage run : memory.open()) {
                run.verify(id.reduceId());
                ByteBuffer slice = run.slice(id.reduceId());
                decoder.reset(null, OffHeap.addressOf(slice), slice.capacity());
                while (decoder.hasNext()) {
                    Tuple2<Object, Object> record = decoder.next();
                    assertThat(record._1()).isEqualTo(id.reduceId());
                    records.add(bytes(record._2()));
                }
            }
            return records;
        }
        for (InputStream in : streams(executor, id)) {
            scala.collection.Iterator<?> all = serializer.deserializeStream(in).asKeyValueIterator();
            while (all.hasNext()) {
                Tuple2<?, ?> record = (Tuple2<?, ?>) all.next();
                if (kind.rows()) {
                    // getBytes may return the array that the next row is read into.
                    records.add(((UnsafeRow) record._2()).copy().getBytes());
                } else {
                    assertThat(record._1()).isEqualTo(id.reduceId());
                    records.add(bytes(record._2()));
                }
            }
        }
        return records;
    }

    private static void assertWritten(
            Kind kind, TestExecutor executor, int shuffleId, int partitions, List<Rec> records, MapStatus status)
            throws IOException {
        List<List<byte[]>> expected = new ArrayList<>();
        for (int p = 0; p < partitions; p++) {
            expected.add(new ArrayList<>());
        }
        records.forEach(record -> expected.get(record.partition()).add(record.bytes()));
        SerializerInstance serializer = kind.serializer().newInstance();
        for (int p = 0; p < partitions; p++) {
            List<byte[]> got = block(kind, serializer, executor, new ShuffleBlockId(shuffleId, MAP_ID, p));
            assertThat(Arrays.deepEquals(got.toArray(), expected.get(p).toArray()))
                    .as(
                            "partition %d: got %d records of %d",
                            p, got.size(), expected.get(p).size())
                    .isTrue();
            assertThat(status.getSizeForBlock(p) > 0).isEqualTo(!expected.get(p).isEmpty());
        }
    }

    /** Writes, checks everything that is to be seen of it, and returns the map output. */
    private MapOutput roundTrip(Kind kind, TestExecutor executor, int partitions, List<Rec> records)
            throws IOException {
        ShuffleDependency<Object, Object, Object> dependency = LocalSpark.dependency(partitions, kind.serializer());
        TaskContext task = LocalSpark.task(1 << 24);
        ScatterWriter<Object, Object> writer = writer(kind, executor, dependency, task);
        writer.write(iterator(kind, records));
        assertThat(task.taskMemoryManager().getMemoryConsumptionForThisTask()).isZero();
        MapStatus status = writer.stop(true).get();
        assertThat(status.mapId()).isEqualTo(MAP_ID);
        assertThat(status.location()).isEqualTo(executor.id());
        assertThat(executor.scratchFiles()).isEmpty();
        assertThat(task.taskMetrics().shuffleWriteMetrics().recordsWritten()).isEqualTo(records.size());
        assertThat(task.taskMetrics().shuffleWriteMetrics().bytesWritten())
                .isEqualTo(Arrays.stream(writer.getPartitionLengths()).sum());
        assertWritten(kind, executor, dependency.shuffleId(), partitions, records, status);
        return executor.store().get(dependency.shuffleId(), MAP_ID);
    }

    @ParameterizedTest
    @CsvSource({
        "ROWS, false, false",
        "SERIALIZED, false, false",
        "ROWS, true, false",
        "SERIALIZED, true, false",
        "ROWS, false, true",
        "SERIALIZED, false, true",
        "ROWS, true, true",
        "SERIALIZED, true, true",
        "PAIRS, false, false",
        "PAIRS, true, false",
        "PAIRS, false, true",
        "PAIRS, true, true",
        "OBJECTS, false, false"
    })
    void shouldWriteRandomRecordsInEveryLayout(Records kindOfRecords, boolean compress, boolean encrypt)
            throws IOException {
        Kind kind = new Kind(kindOfRecords, compress, encrypt);
        Random random = new Random(51);
        try (TestExecutor executor = executor(kind, 1 << 20, 64, STAGING)) {
            for (int partitions : new int[] {1, 2, 200, 3000}) {
                for (int count : new int[] {0, 1, 40, 2000}) {
                    MapOutput output = roundTrip(kind, executor, partitions, random(random, partitions, count, 400));
                    assertThat(output).isInstanceOf(MapOutput.InMemory.class);
                    assertThat(((MapOutput.InMemory) output).layout()).isEqualTo(kind.layout());
                    int runs = ((MapOutput.InMemory) output).runs().size();
                    assertThat(runs).isBetween(count == 0 ? 0 : count < 2000 ? 1 : 4, count == 0 ? 0 : 20);
                    executor.store().shuffleIds().forEach(executor.store()::remove);
                }
            }
            assertThat(executor.counters().get(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                    .isPositive();
            assertThat(executor.counters().get(ShuffleCounter.OVERFLOWED_BYTES)).isZero();
        }
    }

    /** A record that does not fit behind others moves to the front; one that fits nowhere makes the buffer grow. */
    @ParameterizedTest
    @CsvSource({
        "ROWS, false, false",
        "SERIALIZED, false, false",
        "SERIALIZED, true, false",
        "ROWS, false, true",
        "PAIRS, false, false",
        "PAIRS, true, false",
        "OBJECTS, false, false"
    })
    void shouldWriteRecordsThatAreLargerThanTheStagingBuffer(Records kindOfRecords, boolean compress, boolean encrypt)
            throws IOException {
        Kind kind = new Kind(kindOfRecords, compress, encrypt);
        Random random = new Random(52);
        try (TestExecutor executor = executor(kind, 4 << 20, 8, STAGING)) {
            for (int seed = 0; seed < 6; seed++) {
                List<Rec> records = random(random, 5, 300, 2_000);
                for (int giant = 0; giant < 4; giant++) {
                    byte[] bytes = new byte[STAGING * (1 + giant * 2) + 8 * (random.nextInt(20) - 10)];
                    random.nextBytes(bytes);
                    records.add(giant == 0 ? 0 : random.nextInt(records.size()), new Rec(giant, bytes));
                }
                records.add(new Rec(4, new byte[STAGING - 8]));
                records.add(new Rec(4, new byte[STAGING]));
                assertThat(roundTrip(kind, executor, 5, records)).isInstanceOf(MapOutput.InMemory.class);
                executor.store().shuffleIds().forEach(executor.store()::remove);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "ROWS, false, false",
        "SERIALIZED, false, false",
        "ROWS, true, false",
        "SERIALIZED, true, false",
        "ROWS, false, true",
        "SERIALIZED, false, true",
        "ROWS, true, true",
        "SERIALIZED, true, true",
        "PAIRS, false, false",
        "PAIRS, true, false",
        "PAIRS, false, true",
        "PAIRS, true, true",
        "OBJECTS, false, false"
    })
    void shouldWriteAStockFileWhenMemoryIsFull(Records kindOfRecords, boolean compress, boolean encrypt)
            throws IOException {
        Kind kind = new Kind(kindOfRecords, compress, encrypt);
        Random random = new Random(53);
        // Room for two runs or three, of about ten; and for none.
        for (int segments : new int[] {3, 0}) {
            try (TestExecutor executor = executor(kind, 1 << 17, segments, STAGING)) {
                for (int partitions : new int[] {1, 200, 3000}) {
                    MapOutput output = roundTrip(kind, executor, partitions, random(random, partitions, 3000, 400));
                    assertThat(output).isInstanceOfSatisfying(MapOutput.OnDisk.class, file -> {
                        assertThat(file.mapId()).isEqualTo(MAP_ID);
                        assertThat(file.partitions()).isEqualTo(partitions);
                        assertThat(file.bytes()).isPositive();
                    });
                    assertThat(executor.memory().arena().statistics().leases()).isZero();
                }
                assertThat(executor.counters().get(ShuffleCounter.OVERFLOWED_MAP_OUTPUTS))
                        .isEqualTo(3);
                assertThat(executor.counters().get(ShuffleCounter.WRITTEN_IN_MEMORY_BYTES))
                        .isZero();
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "ROWS, false, 0",
        "ROWS, false, 3",
        "SERIALIZED, true, 3",
        "SERIALIZED, false, 64",
        "ROWS, false, 64",
        "PAIRS, true, 3",
        "PAIRS, false, 64",
        "OBJECTS, false, 64"
    })
    void shouldLeaveNothingWhenAborted(Records kindOfRecords, boolean compress, int segments) throws IOException {
        Kind kind = new Kind(kindOfRecords, compress, false);
        Random random = new Random(54);
        try (TestExecutor executor = executor(kind, 1 << 17, segments, STAGING)) {
            for (int failAt : new int[] {0, 1, 50, 2500}) {
                ShuffleDependency<Object, Object, Object> dependency = LocalSpark.dependency(7, kind.serializer());
                TaskContext task = LocalSpark.task(1 << 24);
                ScatterWriter<Object, Object> writer = writer(kind, executor, dependency, task);
                scala.collection.Iterator<Product2<Object, Object>> good = iterator(kind, random(random, 7, 3000, 400));
                scala.collection.Iterator<Product2<Object, Object>> failing = new AbstractIterator<>() {
                    private int count;

                    @Override
                    public boolean hasNext() {
                        return true;
                    }

                    @Override
                    public Product2<Object, Object> next() {
                        if (count++ == failAt) {
                            throw new IllegalStateException("the task fails");
                        }
                        return good.next();
                    }
                };
                assertThatThrownBy(() -> writer.write(failing)).hasMessage("the task fails");
                assertThat(executor.store().get(dependency.shuffleId(), MAP_ID)).isNull();
                assertThat(writer.stop(false).isEmpty()).isTrue();
                assertThat(writer.stop(false).isEmpty()).isTrue();
                assertThat(executor.memory().arena().statistics().leases()).isZero();
                assertThat(executor.scratchFiles()).isEmpty();
                assertThat(executor.local().names()).isEmpty();
                assertThat(executor.store().shuffleIds()).isEmpty();
                assertThat(task.taskMemoryManager().getMemoryConsumptionForThisTask())
                        .isZero();
            }
        }
    }

    /** The upstream operator of the same task needs memory while it makes the next record, and takes the staging buffer's. */
    @ParameterizedTest
    @CsvSource({
        "ROWS, false, 64",
        "SERIALIZED, false, 64",
        "ROWS, true, 64",
        "SERIALIZED, false, 1",
        "PAIRS, false, 64",
        "PAIRS, false, 1",
        "OBJECTS, false, 64",
        "OBJECTS, false, 1"
    })
    void shouldGiveMemoryToAnotherConsumerInTheMiddle(Records kindOfRecords, boolean compress, int segments)
            throws IOException {
        Kind kind = new Kind(kindOfRecords, compress, false);
        List<Rec> records = random(new Random(55), 20, 3000, 400);
        int staging = 1 << 18;
        try (TestExecutor executor = executor(kind, 1 << 19, segments, staging)) {
            ShuffleDependency<Object, Object, Object> dependency = LocalSpark.dependency(20, kind.serializer());
            TaskContext task = LocalSpark.task(400_000);
            MemoryConsumer other = new MemoryConsumer(task.taskMemoryManager(), 4096, MemoryMode.ON_HEAP) {
                @Override
                public long spill(long size, MemoryConsumer trigger) {
                    return 0;
                }
            };
            ScatterWriter<Object, Object> writer = writer(kind, executor, dependency, task);
            scala.collection.Iterator<Product2<Object, Object>> all = iterator(kind, records);
            writer.write(new AbstractIterator<>() {
                private int count;

                @Override
                public boolean hasNext() {
                    return all.hasNext();
                }

                @Override
                public Product2<Object, Object> next() {
                    if (++count % 97 == 0) {
                        assertThat(other.acquireMemory(350_000)).isEqualTo(350_000);
                        if (count % 2 == 0) {
                            other.freeMemory(350_000);
                        }
                    } else if (count % 97 == 10 && other.getUsed() > 0) {
                        // Until here the writer had to do with what Spark did not grant.
                        other.freeMemory(other.getUsed());
                    }
                    return all.next();
                }
            });
            other.freeMemory(other.getUsed());
            assertThat(task.taskMemoryManager().getMemoryConsumptionForThisTask())
                    .isZero();
            MapStatus status = writer.stop(true).get();
            assertWritten(kind, executor, dependency.shuffleId(), 20, records, status);
            MapOutput output = executor.store().get(dependency.shuffleId(), MAP_ID);
            if (segments == 1) {
                assertThat(output).isInstanceOf(MapOutput.OnDisk.class);
            } else {
                // The first run is what was staged when the other asked first, far less than the staging buffer holds.
                List<RegisteredBuffer> runs = ((MapOutput.InMemory) output).runs();
                assertThat(runs).hasSizeGreaterThan(3);
                assertThat(runs.get(0).capacity()).isLessThan(30_000);
            }
        }
    }

    /** A run has an index beside what is staged: a full staging buffer of a segment's size would never fit, and go to disk. */
    @ParameterizedTest
    @EnumSource(Records.class)
    void shouldStayInMemoryWhenStagingIsAsLargeAsASegment(Records kindOfRecords) throws IOException {
        Kind kind = new Kind(kindOfRecords, false, false);
        try (TestExecutor executor = executor(kind, 1 << 16, 16, 1 << 16)) {
            MapOutput output = roundTrip(kind, executor, 20, random(new Random(3), 20, 1000, 200));
            assertThat(output).isInstanceOf(MapOutput.InMemory.class);
            assertThat(((MapOutput.InMemory) output).runs()).hasSizeGreaterThan(1);
        }
    }

    @Test
    void shouldReuseStagingBuffersButNotGrownOnes() {
        StagingPool pool = new StagingPool(4096);
        ScratchBuffer first = pool.acquire();
        ScratchBuffer second = pool.acquire();
        assertThat(first).isNotSameAs(second);
        pool.release(first);
        assertThat(pool.acquire()).isSameAs(first);
        second.reserve(5000, 0);
        pool.release(second);
        assertThat(pool.acquire()).isNotSameAs(second);
    }
}
