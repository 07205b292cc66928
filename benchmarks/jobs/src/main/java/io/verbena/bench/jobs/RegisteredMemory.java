package io.verbena.bench.jobs;

import com.codahale.metrics.Gauge;
import java.io.Serializable;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.metrics.source.Source;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Asks executors how much memory they have registered, by a task on each. */
final class RegisteredMemory {
    private static final String SOURCE = "verbena";
    private static final String GAUGE = "registeredBytes";

    private RegisteredMemory() {}

    /** Returns the sum over executors with one core each, in bytes: 0 where another shuffle manager is. */
    static long bytes(JavaSparkContext context, int executors) {
        List<Integer> ids = IntStream.range(0, executors).boxed().toList();
        // Barrier tasks run at the same time, so each executor gets one.
        return context
                .parallelize(ids, executors)
                .rdd()
                .barrier()
                .mapPartitions(new Probe(), false, ClassTag$.MODULE$.<Long>apply(Long.class))
                .toJavaRDD()
                .collect()
                .stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    private static final class Probe extends AbstractFunction1<Iterator<Integer>, Iterator<Long>>
            implements Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public Iterator<Long> apply(Iterator<Integer> ignored) {
            long bytes = 0;
            for (Source source :
                    CollectionConverters.asJava(SparkEnv.get().metricsSystem().getSourcesByName(SOURCE))) {
                Gauge<?> gauge = source.metricRegistry().getGauges().get(GAUGE);
                bytes += (Long) gauge.getValue();
            }
            return Iterator$.MODULE$.single(bytes);
        }
    }
}
