package io.verbena.it;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorExcluded;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** What Spark tells its listeners about tasks and executors. Threads: the listener bus adds, anyone reads. */
final class TaskLog extends SparkListener {
    private final SparkContext context;
    private final Queue<SparkListenerTaskEnd> ended = new ConcurrentLinkedQueue<>();
    private final Queue<String> removed = new ConcurrentLinkedQueue<>();
    private final Queue<String> excluded = new ConcurrentLinkedQueue<>();

    private TaskLog(SparkContext context) {
        this.context = context;
    }

    static TaskLog of(Cluster cluster) {
        TaskLog log = new TaskLog(cluster.context().sc());
        cluster.context().sc().addSparkListener(log);
        return log;
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
        ended.add(end);
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        removed.add(event.executorId());
    }

    @Override
    public void onExecutorExcluded(SparkListenerExecutorExcluded event) {
        excluded.add(event.executorId());
    }

    /** Forgets the tasks that have ended so far. */
    void forgetTasks() {
        tasks();
        ended.clear();
    }

    /** All task attempts that have ended, whether well or not. */
    List<SparkListenerTaskEnd> tasks() {
        try {
            context.listenerBus().waitUntilEmpty();
        } catch (java.util.concurrent.TimeoutException e) {
            throw new IllegalStateException(e);
        }
        return List.copyOf(ended);
    }

    /** Those of {@link #tasks} that wrote a map output. */
    List<SparkListenerTaskEnd> mapTasks() {
        return tasks().stream()
                .filter(end -> end.taskType().equals("ShuffleMapTask"))
                .toList();
    }

    /** Executors that have gone. */
    List<String> removedExecutors() {
        return List.copyOf(removed);
    }

    /** Executors to which Spark gives no more tasks because others failed there. */
    List<String> excludedExecutors() {
        return List.copyOf(excluded);
    }
}
