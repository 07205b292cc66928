package io.verbena.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import io.verbena.shuffle.metrics.ShuffleCounter;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** A plugin of the user with both halves, a source of metrics and a listener, in an application that shuffles in memory. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class PluginsTest {
    private static final int RECORDS = 3000;
    private static final int MAPS = 4;
    private static final int REDUCES = 6;

    /** Executors introduce themselves to the driver and count their tasks. */
    public static final class Introducing implements SparkPlugin {
        /** What the driver's half in this JVM was asked. */
        static final Queue<String> INTRODUCED = new ConcurrentLinkedQueue<>();

        /** What the executor's half was answered. */
        static volatile String answer;

        static final AtomicLong TASKS = new AtomicLong();

        @Override
        public DriverPlugin driverPlugin() {
            return new DriverPlugin() {
                @Override
                public Object receive(Object message) {
                    INTRODUCED.add((String) message);
                    return "welcome " + message;
                }
            };
        }

        @Override
        public ExecutorPlugin executorPlugin() {
            return new ExecutorPlugin() {
                @Override
                public void init(PluginContext context, Map<String, String> extraConf) {
                    try {
                        answer = (String) context.ask(context.executorID());
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                    context.metricRegistry().register("tasks", (Gauge<Long>) TASKS::get);
                }

                @Override
                public void onTaskStart() {
                    TASKS.incrementAndGet();
                }
            };
        }
    }

    /** A source that the metrics system makes itself. */
    public static final class OwnSource implements Source {
        private final MetricRegistry registry = new MetricRegistry();

        public OwnSource() {}

        @Override
        public String sourceName() {
            return "own";
        }

        @Override
        public MetricRegistry metricRegistry() {
            return registry;
        }
    }

    /** What an executor knows of its plugins and sources, in one line. */
    private static String here() {
        return Introducing.answer + ", tasks=" + (Introducing.TASKS.get() > 0)
                + IntStream.of(sources("plugin." + Introducing.class.getName()), sources("own"), sources("verbena"))
                        .boxed()
                        .toList();
    }

    private static int sources(String name) {
        return SparkEnv.get().metricsSystem().getSourcesByName(name).size();
    }

    private static long sum(List<SparkListenerTaskEnd> tasks, java.util.function.ToLongFunction<TaskMetrics> metric) {
        return tasks.stream()
                .map(SparkListenerTaskEnd::taskMetrics)
                .mapToLong(metric)
                .sum();
    }

    @Test
    void shouldWorkBesidePluginsSourcesAndListenersOfTheUser() {
        Introducing.INTRODUCED.clear();
        try (Cluster cluster = Cluster.twoExecutors(
                Cluster.OURS,
                Cluster.settings(
                        "spark.plugins", Introducing.class.getName(),
                        "spark.metrics.conf.*.source.own.class", OwnSource.class.getName(),
                        "spark.serializer", "org.apache.spark.serializer.KryoSerializer"))) {
            cluster.awaitExecutors();
            TaskLog log = TaskLog.of(cluster);
            Counted counted = Counted.fromNow();
            List<Tuple2<Integer, String>> results = cluster.context()
                    .parallelize(IntStream.range(0, RECORDS).boxed().toList(), MAPS)
                    .mapToPair(i -> new Tuple2<>(i, i))
                    .partitionBy(new HashPartitioner(REDUCES))
                    .mapToPair(pair -> new Tuple2<>(pair._2(), here()))
                    .collect();
            assertThat(results.stream().map(Tuple2::_1).sorted())
                    .isEqualTo(IntStream.range(0, RECORDS).boxed().toList());
            assertThat(Introducing.INTRODUCED)
                    .as("executors that asked the driver")
                    .containsExactlyInAnyOrderElementsOf(cluster.executorIds());
            assertThat(cluster.executorIds().stream().map(id -> "welcome " + id + ", tasks=true[1, 1, 1]"))
                    .containsAll(results.stream().map(Tuple2::_2).distinct().toList());

            assertThat(counted.of(ShuffleCounter.READ_MAPPED_BYTES))
                    .as("%s", counted)
                    .isPositive();
            // The totals that travel as an accumulator and what Spark tells its listeners are the same.
            assertThat(sum(log.mapTasks(), m -> m.shuffleWriteMetrics().recordsWritten()))
                    .isEqualTo(RECORDS);
            assertThat(sum(log.mapTasks(), m -> m.shuffleWriteMetrics().bytesWritten()))
                    .isPositive();
            assertThat(sum(log.tasks(), m -> m.shuffleReadMetrics().recordsRead()))
                    .isEqualTo(RECORDS);
            assertThat(sum(log.tasks(), m -> m.shuffleReadMetrics().totalBytesRead()))
                    .isEqualTo(
                            counted.of(ShuffleCounter.READ_SELF_BYTES) + counted.of(ShuffleCounter.READ_MAPPED_BYTES));
            cluster.assertNoFetchFailures();
        }
    }
}
