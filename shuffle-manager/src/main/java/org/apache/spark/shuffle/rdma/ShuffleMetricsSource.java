package org.apache.spark.shuffle.rdma;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import io.verbena.arena.ArenaStatistics;
import io.verbena.registration.MrCacheStatistics;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.transport.verbs.VerbsStatistics;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;

/** An executor's counters and memory in Spark's metrics system, under the source name {@code verbena}. Threads: any. */
final class ShuffleMetricsSource implements Source {
    private final MetricRegistry registry = new MetricRegistry();

    private ShuffleMetricsSource(ExecutorRuntime runtime) {
        for (ShuffleCounter counter : ShuffleCounter.values()) {
            value(counter.label(), () -> runtime.counters().get(counter));
        }
        memory("memoryBudgetBytes", runtime, ArenaStatistics::budgetBytes);
        memory("memoryCommittedBytes", runtime, ArenaStatistics::committedBytes);
        memory("memoryLeasedBytes", runtime, ArenaStatistics::leasedBytes);
        memory("memoryPeakLeasedBytes", runtime, ArenaStatistics::peakLeasedBytes);
        memory("memoryQuarantinedBytes", runtime, ArenaStatistics::quarantinedBytes);
        memory("memoryRefusals", runtime, ArenaStatistics::refusals);
        ExecutorWays ways = runtime.ways();
        value("registrations", () -> ways.registrar().statistics().registrations());
        value("registeredBytes", () -> ways.registrar().statistics().registeredBytes());
        value("registrationTimeNs", () -> ways.registrar().statistics().registrationTimeNs());
        if (ways.verbs() != null) {
            verbs("verbsReads", ways, VerbsStatistics::readWorkRequests);
            verbs("verbsReadBytes", ways, VerbsStatistics::readBytes);
            verbs("verbsConnections", ways, VerbsStatistics::openConnections);
            verbs("verbsConnectionFailures", ways, VerbsStatistics::connectionFailures);
            verbs("verbsRejects", ways, VerbsStatistics::rejects);
            verbs("verbsRegistrationFailures", ways, VerbsStatistics::registrationFailures);
        }
        if (ways.files() != null) {
            files("fileCacheHits", ways, MrCacheStatistics::hits);
            files("fileCacheMisses", ways, MrCacheStatistics::misses);
            files("fileCacheRefusals", ways, MrCacheStatistics::refusals);
            files("fileCacheEvictions", ways, MrCacheStatistics::evictions);
            files("fileCachePinnedBytes", ways, MrCacheStatistics::pinnedBytes);
        }
    }

    private void files(String name, ExecutorWays ways, ToLongFunction<MrCacheStatistics> value) {
        value(name, () -> value.applyAsLong(ways.files()));
    }

    private void verbs(String name, ExecutorWays ways, ToLongFunction<VerbsStatistics> value) {
        value(name, () -> value.applyAsLong(ways.verbs()));
    }

    private void value(String name, LongSupplier value) {
        registry.register(name, (Gauge<Long>) value::getAsLong);
    }

    private void memory(String name, ExecutorRuntime runtime, ToLongFunction<ArenaStatistics> value) {
        value(name, () -> value.applyAsLong(runtime.arena().statistics()));
    }

    static void register(SparkEnv env, ExecutorRuntime runtime) {
        env.metricsSystem().registerSource(new ShuffleMetricsSource(runtime));
    }

    @Override
    public String sourceName() {
        return "verbena";
    }

    @Override
    public MetricRegistry metricRegistry() {
        return registry;
    }
}
