package io.verbena.shuffle.testing;

import java.util.Properties;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.memory.UnifiedMemoryManager;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.ShuffleWriteProcessor;
import scala.Option;
import scala.Product2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** The parts of Spark that cannot be had without a SparkContext. One local context serves all tests of a JVM. */
public final class LocalSpark {
    private static JavaSparkContext context;

    private LocalSpark() {}

    private static synchronized JavaSparkContext context() {
        if (context == null) {
            context = new JavaSparkContext(new SparkConf(false)
                    .setMaster("local[1]")
                    .setAppName("unit tests")
                    .set("spark.ui.enabled", "false")
                    .set("spark.driver.host", "127.0.0.1")
                    .set("spark.driver.bindAddress", "127.0.0.1"));
        }
        return context;
    }

    /** Makes sure that there is a SparkEnv. */
    public static void start() {
        context();
    }

    /** A dependency of a new shuffle whose keys are the partition numbers. */
    @SuppressWarnings("unchecked")
    public static <V> ShuffleDependency<Object, V, V> dependency(int partitions, Serializer serializer) {
        RDD<Product2<Object, V>> rdd =
                (RDD<Product2<Object, V>>) (RDD<?>) context().emptyRDD().rdd();
        ClassTag<Object> any = ClassTag$.MODULE$.Object();
        return new ShuffleDependency<>(
                rdd,
                new KeyIsPartition(partitions),
                serializer,
                Option.empty(),
                Option.empty(),
                false,
                new ShuffleWriteProcessor(),
                any,
                (ClassTag<V>) any,
                (ClassTag<V>) any);
    }

    /** The context of a task that may use that much execution memory. */
    public static TaskContext task(long memoryBytes) {
        SparkConf conf = context().getConf();
        TaskMemoryManager memory = new TaskMemoryManager(new UnifiedMemoryManager(conf, memoryBytes, 0, 1), 0);
        return new TaskContextImpl(
                0,
                0,
                0,
                0,
                0,
                1,
                memory,
                new Properties(),
                null,
                new TaskMetrics(),
                1,
                scala.collection.immutable.Map$.MODULE$.empty());
    }

    private static final class KeyIsPartition extends Partitioner {
        private static final long serialVersionUID = 1L;
        private final int partitions;

        KeyIsPartition(int partitions) {
            this.partitions = partitions;
        }

        @Override
        public int numPartitions() {
            return partitions;
        }

        @Override
        public int getPartition(Object key) {
            return (Integer) key;
        }
    }
}
