package io.verbena.bench.micro;

import io.verbena.memory.OffHeap;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Random;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoSerializer;
import org.apache.spark.serializer.SerializationStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import scala.Product2;
import scala.Tuple2;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** A map task of an RDD of pairs with the serializer Kryo: from the first record to the committed map output, by record. */
@Per("record")
public class RecordWriterBenchmark extends SparkDefaults {
    private static final int RECORDS = 65_536;
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();

    /** Pairs of an integer and an array of bytes. */
    @State(Scope.Benchmark)
    public static class Records {
        /** Length of a value. */
        @Param({"16", "100", "1000"})
        public int valueBytes;

        private Tuple2<Object, byte[]>[] all;

        /** Makes them. */
        @Setup
        @SuppressWarnings({"unchecked", "rawtypes"})
        public void make() {
            Random random = new Random(3);
            byte[] pool = Content.words(Content.POOL_BYTES);
            byte[][] values = new byte[pool.length / valueBytes][];
            for (int i = 0; i < values.length; i++) {
                values[i] = Arrays.copyOfRange(pool, i * valueBytes, (i + 1) * valueBytes);
            }
            all = new Tuple2[RECORDS];
            for (int i = 0; i < RECORDS; i++) {
                all[i] = new Tuple2<>(random.nextInt(), values[i % values.length]);
            }
        }

        Iterator<Product2<Object, byte[]>> iterator() {
            return new AbstractIterator<>() {
                private int next;

                @Override
                public boolean hasNext() {
                    return next < all.length;
                }

                @Override
                public Product2<Object, byte[]> next() {
                    return all[next++];
                }
            };
        }

        long sum(HashPartitioner partitioner, int partition) {
            long sum = 0;
            for (Tuple2<Object, byte[]> record : all) {
                if (partitioner.getPartition(record._1()) == partition) {
                    sum += hash(record);
                }
            }
            return sum;
        }

        static long sum(Iterator<Product2<Object, byte[]>> records) {
            long sum = 0;
            while (records.hasNext()) {
                sum += hash(records.next());
            }
            return sum;
        }

        private static long hash(Product2<Object, byte[]> record) {
            return (Integer) record._1() * 31L + Arrays.hashCode(record._2());
        }
    }

    /** A session with a shuffle to write to. */
    @State(Scope.Benchmark)
    public abstract static class Side {
        /** Spark chooses the bypass up to 200 partitions, and the serialised sort above. */
        @Param({"16", "200", "2000"})
        public int partitions;

        private final Manager manager;
        private MapSide<byte[]> tasks;

        Side(Manager manager) {
            this.manager = manager;
        }

        /** Starts it, writes a map output and reads it back. */
        @Setup
        public void start(Records records) {
            HashPartitioner partitioner = new HashPartitioner(partitions);
            tasks = new MapSide<>(manager, partitioner, KryoSerializer::new, records::iterator, RECORDS);
            tasks.check(Records::sum, p -> records.sum(partitioner, p));
        }

        LocalSession.Written write() {
            return tasks.write();
        }

        /** Removes what was written; not measured. */
        @TearDown(Level.Invocation)
        public void remove() {
            tasks.remove();
        }

        /** Ends the session. */
        @TearDown
        public void stop() {
            tasks.close();
        }
    }

    /** Verbena's. */
    public static class VerbenaSide extends Side {
        /** For JMH. */
        public VerbenaSide() {
            super(Manager.VERBENA);
        }
    }

    /** Spark's. */
    public static class SparkSide extends Side {
        /** For JMH. */
        public SparkSide() {
            super(Manager.SPARK);
        }
    }

    /** Spark's without compression. */
    public static class SparkRawSide extends Side {
        /** For JMH. */
        public SparkRawSide() {
            super(Manager.SPARK_RAW);
        }
    }

    /** Memory for the records. */
    @State(Scope.Benchmark)
    public static class Memory {
        private Records records;
        private long address;

        /** Allocates it. */
        @Setup
        public void allocate(Records input) {
            records = input;
            address = OffHeap.allocate((long) RECORDS * (input.valueBytes + Integer.BYTES));
            fill();
        }

        long fill() {
            long to = address;
            for (Tuple2<Object, byte[]> record : records.all) {
                byte[] value = record._2();
                OffHeap.putInt(to, (Integer) record._1());
                OffHeap.copy(value, OffHeap.BYTE_ARRAY_OFFSET, null, to + Integer.BYTES, value.length);
                to += Integer.BYTES + value.length;
            }
            return to;
        }

        /** Gives it back. */
        @TearDown
        public void free() {
            OffHeap.free(address);
        }
    }

    /** Kryo as shuffles use it. */
    @State(Scope.Benchmark)
    public static class Kryo {
        private final KryoSerializer serializer = new KryoSerializer(new SparkConf(false));
        private final Discard discard = new Discard();

        long serialize(Records records) {
            discard.bytes = 0;
            try (SerializationStream out = serializer.newInstance().serializeStream(discard)) {
                for (Tuple2<Object, byte[]> record : records.all) {
                    out.writeKey(record._1(), ANY);
                    out.writeValue(record._2(), ANY);
                }
            }
            if (discard.bytes < (long) RECORDS * records.valueBytes) {
                throw new IllegalStateException("too little was serialised: bytes=" + discard.bytes);
            }
            return discard.bytes;
        }
    }

    private static final class Discard extends OutputStream {
        private long bytes;

        @Override
        public void write(int value) {
            bytes++;
        }

        @Override
        public void write(byte[] source, int offset, int length) {
            bytes += length;
        }
    }

    /** Verbena's scatter writer, which stores integers and arrays of bytes without Kryo. */
    @Benchmark
    @OperationsPerInvocation(RECORDS)
    public Object verbena(VerbenaSide side) {
        return side.write();
    }

    /** The writer that Spark chooses, default settings. */
    @Benchmark
    @OperationsPerInvocation(RECORDS)
    public Object spark(SparkSide side) {
        return side.write();
    }

    /** The writer that Spark chooses, without compression. */
    @Benchmark
    @OperationsPerInvocation(RECORDS)
    public Object sparkRaw(SparkRawSide side) {
        return side.write();
    }

    /** The serializer alone, its output dropped. */
    @Benchmark
    @OperationsPerInvocation(RECORDS)
    public long kryoBaseline(Records records, Kryo kryo) {
        return kryo.serialize(records);
    }

    /** One copy of each key and value into warm memory. */
    @Benchmark
    @OperationsPerInvocation(RECORDS)
    public long memcpyBaseline(Memory memory) {
        return memory.fill();
    }
}
