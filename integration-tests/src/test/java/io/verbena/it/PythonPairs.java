package io.verbena.it;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.python.PairwiseRDD;
import org.apache.spark.api.python.PythonPartitioner;
import org.apache.spark.api.python.PythonRDD;
import scala.Tuple2;

/**
 * The RDDs that PySpark makes of {@code partitionBy}, with which all its shuffles of pairs begin: a Python worker sends, by turns, the
 * number of a partition and a batch of records for it, both as bytes; Spark pairs them, shuffles, and drops the numbers.
 */
final class PythonPairs {
    private static final int BATCH = 16;

    private PythonPairs() {}

    /** Shuffles pairs of a text and a number; no text has a tab or a newline. */
    static JavaRDD<Tuple2<String, Integer>> partitionBy(JavaPairRDD<String, Integer> pairs, int partitions) {
        JavaRDD<byte[]> fromPython =
                pairs.mapPartitions(records -> written(records, partitions).iterator());
        JavaPairRDD<Object, byte[]> paired = new PairwiseRDD(fromPython.rdd()).asJavaPairRDD();
        return PythonRDD.valueOfPair(paired.partitionBy(new PythonPartitioner(partitions, 1L)))
                .flatMap(batch -> read(batch).iterator());
    }

    /** What a Python worker sends for one partition of its input. */
    private static List<byte[]> written(Iterator<Tuple2<String, Integer>> records, int partitions) {
        List<List<String>> batches = Stream.generate(() -> (List<String>) new ArrayList<String>())
                .limit(partitions)
                .collect(Collectors.toList());
        List<byte[]> sent = new ArrayList<>();
        while (records.hasNext()) {
            Tuple2<String, Integer> record = records.next();
            int partition = Math.floorMod(record._1().hashCode(), partitions);
            List<String> batch = batches.get(partition);
            batch.add(record._1() + "\t" + record._2());
            if (batch.size() == BATCH) {
                send(partition, batch, sent);
            }
        }
        for (int partition = 0; partition < partitions; partition++) {
            if (!batches.get(partition).isEmpty()) {
                send(partition, batches.get(partition), sent);
            }
        }
        return sent;
    }

    private static void send(long partition, List<String> batch, List<byte[]> sent) {
        sent.add(ByteBuffer.allocate(Long.BYTES).putLong(partition).array());
        sent.add(String.join("\n", batch).getBytes(StandardCharsets.UTF_8));
        batch.clear();
    }

    private static List<Tuple2<String, Integer>> read(byte[] batch) {
        return new String(batch, StandardCharsets.UTF_8)
                .lines()
                .map(line -> line.split("\t", 2))
                .map(fields -> new Tuple2<>(fields[0], Integer.valueOf(fields[1])))
                .toList();
    }
}
