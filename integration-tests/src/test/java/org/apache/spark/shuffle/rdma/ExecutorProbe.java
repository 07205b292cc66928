package org.apache.spark.shuffle.rdma;

import io.verbena.arena.ArenaStatistics;
import io.verbena.shuffle.metrics.ShuffleCounter;
import io.verbena.transport.verbs.VerbsStatistics;
import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.CollectionAccumulator;

/** Looks into executors from a test: runs as a task on every one of them, in the bridge's package. */
public final class ExecutorProbe {
    private static final int ALL = -1;

    private ExecutorProbe() {}

    /** What an executor holds and has counted. */
    public static final class State implements Serializable {
        private static final long serialVersionUID = 1L;
        private final String executorId;
        private final long[] memory;
        private final long[] verbs;
        private final long registrations;
        private final Map<String, Long> counters = new HashMap<>();

        private State(String executorId, ExecutorRuntime runtime) {
            this.executorId = executorId;
            ArenaStatistics arena = runtime.arena().statistics();
            this.memory = new long[] {
                arena.leases(),
                arena.leasedBytes(),
                arena.quarantinedBytes(),
                runtime.peers().size(),
                arena.peakLeasedBytes(),
                arena.committedBytes()
            };
            VerbsStatistics network = runtime.ways().verbs();
            this.verbs = network == null
                    ? null
                    : new long[] {
                        network.readBytes(), network.connects(), network.accepts(), network.connectionFailures()
                    };
            this.registrations = runtime.ways().registrar().statistics().registrations();
            for (ShuffleCounter counter : ShuffleCounter.values()) {
                counters.put(counter.name(), runtime.counters().get(counter));
            }
        }

        public String executorId() {
            return executorId;
        }

        /** Live leases on memory. */
        public long leases() {
            return memory[0];
        }

        public long leasedBytes() {
            return memory[1];
        }

        /** Retired bytes that may still be read. */
        public long quarantinedBytes() {
            return memory[2];
        }

        /** Leases on peers' shuffles. */
        public long peerLeases() {
            return memory[3];
        }

        public long peakLeasedBytes() {
            return memory[4];
        }

        public long committedBytes() {
            return memory[5];
        }

        /** Regions registered so far, with RDMA devices or, without one, in the books only. */
        public long registrations() {
            return registrations;
        }

        /** Whether the executor has an RDMA device; the methods named after verbs need one. */
        public boolean hasVerbs() {
            return verbs != null;
        }

        /** Bytes that RDMA Reads of this executor have brought, indexes included. */
        public long verbsReadBytes() {
            return verbs[0];
        }

        /** RDMA connections established as the reader. */
        public long verbsConnects() {
            return verbs[1];
        }

        /** RDMA connections established as the owner. */
        public long verbsAccepts() {
            return verbs[2];
        }

        public long verbsConnectionFailures() {
            return verbs[3];
        }

        public long counter(ShuffleCounter counter) {
            return counters.get(counter.name());
        }

        @Override
        public String toString() {
            return "executor " + executorId + ": leases=" + leases() + ", leasedBytes=" + leasedBytes()
                    + ", quarantinedBytes=" + quarantinedBytes() + ", peerLeases=" + peerLeases() + ", registrations="
                    + registrations + ", verbs(readBytes, connects, accepts, connectionFailures)="
                    + Arrays.toString(verbs) + ", counters=" + counters;
        }
    }

    /** The state of every executor; one task per core finds its way to each because tasks wait for one another. */
    public static List<State> states(JavaSparkContext context, int executors) {
        return onEachExecutor(context, executors, new Removal(null, null));
    }

    /** Unregisters every shuffle on every executor, waits until memory and leases are free, and returns the states. */
    public static List<State> statesAfterRemovingAll(JavaSparkContext context, int executors) {
        return onEachExecutor(context, executors, new Removal(null, ALL));
    }

    /** Makes one executor forget one shuffle behind the driver's back, as if its memory had been lost. */
    public static List<State> forget(JavaSparkContext context, int executors, String executorId, int shuffleId) {
        return onEachExecutor(context, executors, new Removal(executorId, shuffleId));
    }

    private record Removal(String executorId, Integer shuffleId) implements Serializable {
        boolean concerns(String executor) {
            return shuffleId != null && (executorId == null || executorId.equals(executor));
        }
    }

    private static List<State> onEachExecutor(JavaSparkContext context, int executors, Removal removal) {
        List<Integer> ids = IntStream.range(0, executors).boxed().toList();
        // States do not travel as results, which the application's serializer writes: Kryo may refuse our class.
        CollectionAccumulator<State> states = context.sc().collectionAccumulator();
        // Barrier tasks run at the same time, so with one core per executor each executor gets one.
        context.parallelize(ids, executors)
                .rdd()
                .toJavaRDD()
                .rdd()
                .barrier()
                .mapPartitions(
                        new ProbeTask(removal, states), true, scala.reflect.ClassTag$.MODULE$.apply(Integer.class))
                .count();
        return states.value();
    }

    private static final class ProbeTask
            extends scala.runtime.AbstractFunction1<
                    scala.collection.Iterator<Integer>, scala.collection.Iterator<Integer>>
            implements Serializable {
        private static final long serialVersionUID = 1L;
        private final Removal removal;
        private final CollectionAccumulator<State> states;

        ProbeTask(Removal removal, CollectionAccumulator<State> states) {
            this.removal = removal;
            this.states = states;
        }

        @Override
        public scala.collection.Iterator<Integer> apply(scala.collection.Iterator<Integer> ids) {
            states.add(here(removal));
            return ids;
        }
    }

    /** The state of this process's executor. */
    private static State here(Removal removal) {
        RdmaShuffleManager manager = (RdmaShuffleManager) SparkEnv.get().shuffleManager();
        ExecutorRuntime runtime = manager.runtime();
        boolean concerned = removal.concerns(SparkEnv.get().executorId());
        if (concerned && removal.shuffleId() != ALL) {
            manager.unregisterShuffle(removal.shuffleId());
        } else if (concerned) {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            runtime.store().shuffleIds().forEach(manager::unregisterShuffle);
            while (!isFree(runtime) && System.nanoTime() < deadline) {
                runtime.peers().closeIdle(0);
                runtime.arena().reclaim();
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
            }
        }
        return new State(SparkEnv.get().executorId(), runtime);
    }

    private static boolean isFree(ExecutorRuntime runtime) {
        ArenaStatistics arena = runtime.arena().statistics();
        return arena.leases() == 0
                && arena.quarantinedBytes() == 0
                && runtime.peers().size() == 0;
    }
}
