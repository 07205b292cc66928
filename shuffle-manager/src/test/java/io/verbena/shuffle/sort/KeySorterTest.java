package io.verbena.shuffle.sort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.testing.LocalSpark;
import java.io.NotSerializableException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.TaskKilledException;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.Serializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;

@Timeout(120)
class KeySorterTest {
    private static final String UNCHARGED = "spark.shuffle.spill.initialMemoryThreshold";
    private static final String MOST_IN_MEMORY = "spark.shuffle.spill.numElementsForceSpillThreshold";
    private static final long PLENTY = 1L << 28;
    private static final int RECORDS = 20_000;

    private final ShuffleCounters counters = new ShuffleCounters();
    private final Serializer kryo = new KryoSerializer(new SparkConf(false));
    private int filesBefore;

    @BeforeEach
    void start() {
        LocalSpark.start();
        filesBefore = files();
        // Spark lets a task have 5 MiB without asking.
        SparkEnv.get().conf().set(UNCHARGED, "4096");
    }

    @AfterEach
    void assertAllGivenBack() {
        SparkEnv.get().conf().remove(UNCHARGED);
        SparkEnv.get().conf().remove(MOST_IN_MEMORY);
        assertThat(files()).as("files on disk").isEqualTo(filesBefore);
    }

    private static int files() {
        return SparkEnv.get().blockManager().diskBlockManager().getAllFiles().size();
    }

    private static void end(TaskContext task) {
        ((TaskContextImpl) task).markTaskCompleted(Option.empty());
        assertThat(task.taskMemoryManager().getMemoryConsumptionForThisTask())
                .as("memory at the end of the task")
                .isZero();
    }

    private static List<Tuple2<Object, Object>> records(Keys keys, int count) {
        List<Object> sample = keys.sample(count, 11);
        List<Tuple2<Object, Object>> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            records.add(new Tuple2<>(sample.get(i), i));
        }
        return records;
    }

    /** What a stable sort makes of them, as values: keys that have been on disk are other objects. */
    private static List<Object> expected(Keys keys, List<Tuple2<Object, Object>> records) {
        return records.stream()
                .sorted((a, b) -> keys.order().compare(a._1(), b._1()))
                .map(Tuple2::_2)
                .toList();
    }

    private static Iterator<Product2<Object, Object>> iterate(
            List<Tuple2<Object, Object>> records, IntConsumer before) {
        return new AbstractIterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < records.size();
            }

            @Override
            public Product2<Object, Object> next() {
                before.accept(next);
                return records.get(next++);
            }
        };
    }

    private static Iterator<Product2<Object, Object>> iterate(List<Tuple2<Object, Object>> records) {
        return iterate(records, i -> {});
    }

    private KeySorter sorter(TaskContext task, Keys keys) {
        return new KeySorter(task, keys.order(), kryo, counters);
    }

    private static List<Object> values(Iterator<Product2<Object, Object>> sorted) {
        List<Object> values = new ArrayList<>();
        while (sorted.hasNext()) {
            values.add(sorted.next()._2());
        }
        assertThat(sorted.hasNext()).isFalse();
        return values;
    }

    @ParameterizedTest
    @EnumSource
    void shouldSortInMemory(Keys keys) {
        TaskContext task = LocalSpark.task(PLENTY);
        List<Tuple2<Object, Object>> records = records(keys, RECORDS);
        Iterator<Product2<Object, Object>> sorted = sorter(task, keys).sort(iterate(records));
        assertThat(task.taskMetrics().peakExecutionMemory()).isGreaterThan(RECORDS * RecordSort.BYTES_PER_RECORD);
        assertThat(task.taskMemoryManager().getMemoryConsumptionForThisTask()).isPositive();
        assertThat(values(sorted)).isEqualTo(expected(keys, records));
        assertThat(task.taskMemoryManager().getMemoryConsumptionForThisTask())
                .as("memory when all has been read")
                .isZero();
        assertThat(task.taskMetrics().memoryBytesSpilled()).isZero();
        assertThat(counters.get(ShuffleCounter.SORTS_BY_PREFIX)).isOne();
        assertThat(counters.get(ShuffleCounter.SORTS_BY_COMPARISON)).isZero();
        end(task);
    }

    @ParameterizedTest
    @EnumSource
    void shouldMergeWhatItSpilled(Keys keys) {
        for (long memory : new long[] {100_000, 1_000_000}) {
            TaskContext task = LocalSpark.task(memory);
            List<Tuple2<Object, Object>> records = records(keys, RECORDS);
            assertThat(values(sorter(task, keys).sort(iterate(records))))
                    .as("with %s bytes", memory)
                    .isEqualTo(expected(keys, records));
            assertThat(files()).as("files when all has been read").isEqualTo(filesBefore);
            assertThat(task.taskMetrics().memoryBytesSpilled()).isPositive();
            assertThat(task.taskMetrics().diskBytesSpilled()).isPositive();
            end(task);
        }
    }

    /** Memory is refused from some record on, because somebody else in the task takes it all. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 31, 32, 33, 500, 4999, 5000})
    void shouldSpillWhenMemoryIsRefused(int from) {
        TaskContext task = LocalSpark.task(1 << 20);
        Hog hog = new Hog(task);
        List<Tuple2<Object, Object>> records = records(Keys.ARRAYS, 5000);
        Iterator<Product2<Object, Object>> sorted = sorter(task, Keys.ARRAYS).sort(iterate(records, i -> {
            if (i == from) {
                hog.take();
            }
        }));
        assertThat(values(sorted)).isEqualTo(expected(Keys.ARRAYS, records));
        hog.give();
        end(task);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 100, 999, 1000, 1001})
    void shouldSpillEverySoManyRecords(int most) {
        TaskContext task = LocalSpark.task(PLENTY);
        List<Tuple2<Object, Object>> records = records(Keys.STRINGS, 1000);
        KeySorter sorter = new KeySorter(task, Keys.STRINGS.order(), kryo, counters, most);
        assertThat(values(sorter.sort(iterate(records)))).isEqualTo(expected(Keys.STRINGS, records));
        assertThat(task.taskMetrics().diskBytesSpilled() > 0).isEqualTo(most <= 1000);
        end(task);
    }

    /** More than one batch in a file. */
    @Test
    void shouldReadLongRuns() {
        SparkEnv.get().conf().set(MOST_IN_MEMORY, "25000");
        TaskContext task = LocalSpark.task(PLENTY);
        List<Tuple2<Object, Object>> records = records(Keys.WORDS, 60_000);
        KeySorter sorter = new KeySorter(task, Keys.WORDS.order(), new JavaSerializer(new SparkConf(false)), counters);
        assertThat(values(sorter.sort(iterate(records)))).isEqualTo(expected(Keys.WORDS, records));
        assertThat(counters.get(ShuffleCounter.SORTS_BY_PREFIX)).isEqualTo(3);
        end(task);
    }

    /** While the sorted records are read, another consumer of the task needs memory: the rest moves to disk. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 127, 128, 129, 4000, RECORDS - 1, RECORDS})
    void shouldGiveMemoryToOthersWhileItIsRead(int read) {
        for (boolean spilled : new boolean[] {false, true}) {
            SparkEnv.get().conf().set(MOST_IN_MEMORY, spilled ? "7000" : "2147483647");
            TaskContext task = LocalSpark.task(8 << 20);
            Hog hog = new Hog(task);
            List<Tuple2<Object, Object>> records = records(Keys.LONGS, RECORDS);
            Iterator<Product2<Object, Object>> sorted = sorter(task, Keys.LONGS).sort(iterate(records));
            long before = task.taskMetrics().diskBytesSpilled();
            List<Object> values = new ArrayList<>();
            for (int i = 0; i < read; i++) {
                values.add(sorted.next()._2());
            }
            hog.take();
            assertThat(hog.getUsed()).as("memory for the other").isGreaterThan((8 << 20) - 4096);
            assertThat(task.taskMetrics().diskBytesSpilled() > before).isEqualTo(read < RECORDS - 128);
            values.addAll(values(sorted));
            assertThat(values).isEqualTo(expected(Keys.LONGS, records));
            hog.give();
            end(task);
        }
    }

    /** Tasks with a second thread (a Python worker's, a pipe's) need memory on one and read on the other. */
    @Test
    void shouldGiveMemoryToAnotherThreadWhileItIsRead() throws InterruptedException {
        for (int round = 0; round < 20; round++) {
            TaskContext task = LocalSpark.task(8 << 20);
            Hog hog = new Hog(task);
            List<Tuple2<Object, Object>> records = records(Keys.WORDS, RECORDS);
            Iterator<Product2<Object, Object>> sorted = sorter(task, Keys.WORDS).sort(iterate(records));
            AtomicBoolean taken = new AtomicBoolean();
            int after = round * 211;
            Thread other = new Thread(() -> {
                hog.take();
                taken.set(true);
            });
            List<Object> values = new ArrayList<>();
            for (int i = 0; i < after; i++) {
                values.add(sorted.next()._2());
            }
            other.start();
            values.addAll(values(sorted));
            other.join();
            assertThat(taken).isTrue();
            assertThat(values).isEqualTo(expected(Keys.WORDS, records));
            hog.give();
            end(task);
        }
    }

    @Test
    void shouldGiveEverythingBackWhenTheTaskIsKilled() {
        TaskContext task = LocalSpark.task(500_000);
        List<Tuple2<Object, Object>> records = records(Keys.WORDS, RECORDS);
        KeySorter sorter = sorter(task, Keys.WORDS);
        assertThatThrownBy(() -> sorter.sort(iterate(records, i -> {
                    if (i == RECORDS - 1) {
                        throw new TaskKilledException("test");
                    }
                })))
                .isInstanceOf(TaskKilledException.class);
        assertThat(files()).as("spilled before").isGreaterThan(filesBefore);
        end(task);
    }

    @Test
    void shouldGiveEverythingBackWhenNotAllIsRead() {
        TaskContext task = LocalSpark.task(500_000);
        List<Tuple2<Object, Object>> records = records(Keys.WORDS, RECORDS);
        Iterator<Product2<Object, Object>> sorted = sorter(task, Keys.WORDS).sort(iterate(records));
        assertThat(sorted.next()._2()).isEqualTo(expected(Keys.WORDS, records).get(0));
        assertThat(files()).as("spilled").isGreaterThan(filesBefore);
        end(task);
    }

    @Test
    void shouldLeaveNoFileWhenARecordCannotBeWritten() {
        TaskContext task = LocalSpark.task(1);
        List<Tuple2<Object, Object>> records = records(Keys.WORDS, 1000);
        records.set(900, new Tuple2<>("word", new Object()));
        KeySorter sorter =
                new KeySorter(task, Keys.WORDS.order(), new JavaSerializer(new SparkConf(false)), counters, 950);
        assertThatThrownBy(() -> sorter.sort(iterate(records))).isInstanceOf(NotSerializableException.class);
        end(task);
    }

    /** As a serializer of the user's may do. */
    @Test
    void shouldNotKeepRecordsThatAreReused() {
        TaskContext task = LocalSpark.task(PLENTY);
        Reused reused = new Reused();
        List<Tuple2<Object, Object>> records = records(Keys.INTS, 1000);
        Iterator<Product2<Object, Object>> input = new AbstractIterator<>() {
            private int next;

            @Override
            public boolean hasNext() {
                return next < records.size();
            }

            @Override
            public Product2<Object, Object> next() {
                reused.record = records.get(next++);
                return reused;
            }
        };
        assertThat(values(sorter(task, Keys.INTS).sort(input))).isEqualTo(expected(Keys.INTS, records));
        end(task);
    }

    private static final class Reused implements Product2<Object, Object> {
        private Tuple2<Object, Object> record;

        @Override
        public Object _1() {
            return record._1();
        }

        @Override
        public Object _2() {
            return record._2();
        }

        @Override
        public boolean canEqual(Object that) {
            return that instanceof Reused;
        }
    }

    /** Takes all the memory there is. */
    private static final class Hog extends MemoryConsumer {
        Hog(TaskContext task) {
            super(task.taskMemoryManager(), MemoryMode.ON_HEAP);
        }

        void take() {
            acquireMemory(PLENTY);
        }

        void give() {
            freeMemory(getUsed());
        }

        @Override
        public long spill(long size, MemoryConsumer trigger) {
            return 0;
        }
    }
}
