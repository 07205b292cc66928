package org.apache.spark.shuffle.rdma;

import io.verbena.shuffle.config.ContainerMemory;
import io.verbena.shuffle.config.RdmaConf;
import io.verbena.shuffle.fallback.FallbackReason;
import io.verbena.shuffle.metrics.CounterSink;
import io.verbena.shuffle.metrics.ShuffleTotals;
import io.verbena.shuffle.pairs.PairFormat;
import io.verbena.shuffle.reader.RegisteredReader;
import io.verbena.shuffle.seam.SparkLine;
import io.verbena.shuffle.writer.RowFormat;
import io.verbena.shuffle.writer.ScatterWriter;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shuffle manager: set {@code spark.shuffle.manager} to this class's name.
 *
 * <p>Extends Spark's sort shuffle for two reasons: shuffles that we do not serve stay Spark's, and Spark SQL copies every row
 * before it reaches the writer of any manager that is not a SortShuffleManager.
 *
 * <p>Threads: any. On the driver only {@link #registerShuffle} and {@link #unregisterShuffle} are called; an executor's memory is
 * set up at its first shuffle.
 */
public class RdmaShuffleManager extends SortShuffleManager {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaShuffleManager.class);

    private static final String APP_ID = "spark.app.id";

    private static final AtomicReference<ShuffleTotals> LAST_TOTALS = new AtomicReference<>(new ShuffleTotals());

    private final SparkConf conf;
    /** What the superclass reads: a copy of {@link #conf} with our output stage. */
    private final SparkConf superConf;

    private final RdmaConf rdma;
    private final ManagedBlocks blocks;
    private final IndexShuffleBlockResolver resolver;
    private final Set<FallbackReason> reported = EnumSet.noneOf(FallbackReason.class);
    private final Object lock = new Object();
    private ShuffleTotals totals;
    private boolean stopped;
    private volatile ExecutorRuntime runtime;

    /**
     * Creates the manager, as Spark does on the driver and on every executor.
     *
     * @throws IllegalStateException on a line of Spark that the plugin does not know
     * @throws IllegalArgumentException naming every wrong or unknown {@code spark.shuffle.rdma.*} setting
     */
    public RdmaShuffleManager(SparkConf conf) {
        this(conf, StoreDataIo.into(SparkLine.current().requireSupported(conf)));
    }

    private RdmaShuffleManager(SparkConf conf, SparkConf superConf) {
        super(superConf);
        this.conf = conf;
        this.superConf = superConf;
        this.rdma = RdmaConf.from(conf);
        this.blocks = new ManagedBlocks(this);
        this.resolver = SparkLine.current().atLeast(4, 1)
                ? new RdmaBlockResolver41(conf, blocks)
                : new RdmaBlockResolver(conf, blocks);
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        ShuffleHandle sparkHandle = super.registerShuffle(shuffleId, dependency);
        Optional<FallbackReason> fallback = FallbackReason.of(conf, rdma);
        if (fallback.isPresent()) {
            report(fallback.get(), shuffleId);
            return sparkHandle;
        }
        boolean relocatable = dependency.serializer().supportsRelocationOfSerializedObjects();
        boolean pairs = relocatable && rdma.pairsEnabled() && PairFormat.serves(dependency.serializer());
        return new RdmaShuffleHandle<>(
                shuffleId, dependency, relocatable ? null : sparkHandle, pairs, totals(dependency));
    }

    private void report(FallbackReason reason, int shuffleId) {
        boolean first;
        synchronized (lock) {
            first = reported.add(reason);
        }
        if (first) {
            LOG.warn(
                    "Spark's own shuffle is used from shuffle {} on: reason={}: {}",
                    shuffleId,
                    reason,
                    reason.explanation());
        }
    }

    private ShuffleTotals totals(ShuffleDependency<?, ?, ?> dependency) {
        synchronized (lock) {
            if (totals == null) {
                totals = new ShuffleTotals();
                dependency.rdd().context().register(totals, "Verbena shuffle");
                LAST_TOTALS.set(totals);
                ContainerMemory.problem(conf, rdma).ifPresent(LOG::warn);
            }
            return totals;
        }
    }

    /** What the tasks of the application that ran last in this driver have counted. */
    public static ShuffleTotals totals() {
        return LAST_TOTALS.get();
    }

    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        if (!(handle instanceof RdmaShuffleHandle)) {
            return sparkWriter(handle, mapId, context, metrics);
        }
        @SuppressWarnings("unchecked")
        RdmaShuffleHandle<K, V, ?> ours = (RdmaShuffleHandle<K, V, ?>) handle;
        ExecutorRuntime executor = runtime();
        CounterSink counters = executor.counters().and(ours.totals());
        if (ours.sparkHandle() != null) {
            StoreDataIo.direct(ours.shuffleId(), mapId, executor, counters, context);
            return sparkWriter(ours.sparkHandle(), mapId, context, metrics);
        }
        return new ScatterWriter<>(
                executor.writers(),
                ours.dependency(),
                ours.dependency().mapSideCombine()
                        ? null
                        : RowFormat.of(ours.dependency().serializer()),
                ours.pairs(),
                counters,
                SparkEnv.get().blockManager().shuffleServerId(),
                mapId,
                context,
                metrics);
    }

    private <K, V> ShuffleWriter<K, V> sparkWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        // A driver with tasks of its own learns the application's id only after it has made its shuffle manager.
        superConf.setIfMissing(APP_ID, conf.get(APP_ID));
        return super.getWriter(handle, mapId, context, metrics);
    }

    @Override
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        if (!(handle instanceof RdmaShuffleHandle)) {
            return super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
        }
        @SuppressWarnings("unchecked")
        RdmaShuffleHandle<K, ?, C> ours = (RdmaShuffleHandle<K, ?, C>) handle;
        ExecutorRuntime executor = runtime();
        RowFormat rows = RowFormat.of(ours.dependency().serializer());
        return new RegisteredReader<>(
                executor.readers(),
                ours.dependency(),
                rows == null ? -1 : rows.fields(),
                SparkEnv.get().mapOutputTracker(),
                startMapIndex,
                endMapIndex,
                startPartition,
                endPartition,
                context,
                metrics,
                executor.counters().and(ours.totals()));
    }

    /** The executor's memory and everything on it, set up now if this is the first use. */
    ExecutorRuntime runtime() {
        ExecutorRuntime current = runtime;
        if (current == null) {
            synchronized (lock) {
                if (stopped) {
                    throw new IllegalStateException("the shuffle manager of this executor has been stopped");
                }
                if (runtime == null) {
                    runtime = new ExecutorRuntime(rdma, conf, SparkEnv.get(), resolver);
                    ShuffleMetricsSource.register(SparkEnv.get(), runtime);
                }
                current = runtime;
            }
        }
        return current;
    }

    /** The executor's memory if it was ever used, else {@code null}. */
    ExecutorRuntime runtimeIfStarted() {
        return runtime;
    }

    @Override
    public IndexShuffleBlockResolver shuffleBlockResolver() {
        // Called by the superclass's constructor, before the field is set.
        return resolver == null ? super.shuffleBlockResolver() : resolver;
    }

    @Override
    public boolean unregisterShuffle(int shuffleId) {
        ExecutorRuntime current = runtime;
        if (current != null) {
            current.removeShuffle(shuffleId);
        }
        blocks.removeMigrated(shuffleId, resolver);
        return super.unregisterShuffle(shuffleId);
    }

    @Override
    public void stop() {
        ExecutorRuntime current;
        synchronized (lock) {
            current = runtime;
            runtime = null;
            stopped = true;
            if (totals != null) {
                LOG.info("shuffle summary of the application: {}", totals.value());
            }
        }
        if (current != null) {
            current.close();
        }
        super.stop();
    }
}
