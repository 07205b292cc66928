package io.verbena.bench.jobs;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.classic.SparkSession;
import scala.Tuple2;

/** Jobs on RDDs of records, which Kryo writes. Inputs are computed from a record number within the map tasks. */
final class Records {
    private static final int KEY_BYTES = 10;
    private static final int VALUE_BYTES = 90;
    private static final long LETTERS = 0x4141414141414141L;

    private Records() {}

    /** Records of 100 bytes to partitions by key. */
    static long repartition(SparkSession session, long records, int maps, int partitions) {
        return terasort(session, records, maps)
                .partitionBy(new FirstBytes(partitions))
                .mapPartitions(partition -> {
                    long sum = 0;
                    while (partition.hasNext()) {
                        sum += hash(partition.next());
                    }
                    return List.of(sum).iterator();
                })
                .fold(0L, Long::sum);
    }

    /** Records of 100 bytes to partitions by key, each sorted; the order is part of the checksum. */
    static long sortByKey(SparkSession session, double scale) {
        return terasort(session, (long) (2_000_000 * scale), 16)
                .repartitionAndSortWithinPartitions(new FirstBytes(16), new UnsignedBytes())
                .mapPartitions(partition -> {
                    long hash = 0;
                    while (partition.hasNext()) {
                        hash = hash * 31 + hash(partition.next());
                    }
                    return List.of(hash).iterator();
                })
                .fold(0L, Long::sum);
    }

    /** Counts three million numbers of which two thirds are different: there is little to combine before the shuffle. */
    static long reduceByKey(SparkSession session, double scale) {
        long keys = Math.max(1, (long) (2_000_000 * scale));
        return generate(session, (long) (3_000_000 * scale), 8, i -> new Tuple2<>(Math.floorMod(Hash.mix(i), keys), 1L))
                .reduceByKey(Long::sum, 8)
                .map(count -> Hash.mix(count._1() * 1_000_003 + count._2()))
                .fold(0L, Long::sum);
    }

    /** Groups objects by a text. */
    static long groupByKey(SparkSession session, double scale) {
        long users = Math.max(1, (long) (200_000 * scale));
        return generate(session, (long) (1_500_000 * scale), 8, i -> {
                    long random = Hash.mix(i);
                    return new Tuple2<>("user-" + Math.floorMod(random, users), new Event(i, random));
                })
                .groupByKey(8)
                .map(group -> {
                    long sum = group._1().hashCode();
                    for (Event event : group._2()) {
                        sum += event.hash();
                    }
                    return Hash.mix(sum);
                })
                .fold(0L, Long::sum);
    }

    /** What the sort benchmark's generator makes: a random key of 10 bytes, and 90 bytes that compress to about two thirds. */
    private static JavaPairRDD<byte[], byte[]> terasort(SparkSession session, long records, int maps) {
        return generate(session, records, maps, i -> {
            long random = Hash.mix(i);
            ByteBuffer key = ByteBuffer.allocate(KEY_BYTES).putLong(random).putShort((short) i);
            ByteBuffer value = ByteBuffer.allocate(VALUE_BYTES).putLong(i);
            for (long x = random; value.remaining() >= 2 * Long.BYTES; ) {
                x = x * 6364136223846793005L + 1442695040888963407L;
                value.putLong(x).putLong(LETTERS + (x & 7));
            }
            return new Tuple2<>(key.array(), value.array());
        });
    }

    private interface Generator<K, V> extends LongFunction<Tuple2<K, V>>, Serializable {}

    private static <K, V> JavaPairRDD<K, V> generate(
            SparkSession session, long records, int maps, Generator<K, V> generator) {
        List<Integer> ids = IntStream.range(0, maps).boxed().toList();
        return JavaSparkContext.fromSparkContext(session.sparkContext())
                .parallelize(ids, maps)
                .mapPartitionsToPair(partition -> {
                    int map = partition.next();
                    return LongStream.range(records * map / maps, records * (map + 1) / maps)
                            .mapToObj(generator)
                            .iterator();
                });
    }

    private static long hash(Tuple2<byte[], byte[]> record) {
        return Hash.mix(ByteBuffer.wrap(record._1()).getLong() * 31
                + ByteBuffer.wrap(record._2()).getLong());
    }

    /** An object as applications have them. */
    static final class Event implements Serializable {
        private static final long serialVersionUID = 1L;
        private final long id;
        private final int kind;
        private final double amount;
        private final String place;

        Event(long id, long random) {
            this.id = id;
            this.kind = (int) (random & 15);
            this.amount = random >>> 40;
            this.place = "place-" + (random & 1023);
        }

        long hash() {
            return Hash.mix(id) + kind + (long) amount + place.hashCode();
        }
    }

    /** Equal shares of the keys' range; keys are spread evenly over it. */
    static final class FirstBytes extends Partitioner {
        private static final long serialVersionUID = 1L;
        private final int partitions;

        FirstBytes(int partitions) {
            this.partitions = partitions;
        }

        @Override
        public int numPartitions() {
            return partitions;
        }

        @Override
        public int getPartition(Object key) {
            byte[] bytes = (byte[]) key;
            int first = (bytes[0] & 255) << 8 | (bytes[1] & 255);
            return (first * partitions) >>> 16;
        }
    }

    /** The order of keys. */
    static final class UnsignedBytes implements Comparator<byte[]>, Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public int compare(byte[] a, byte[] b) {
            return Arrays.compareUnsigned(a, b);
        }
    }
}
