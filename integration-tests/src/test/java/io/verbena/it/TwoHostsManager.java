package io.verbena.it;

import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExternalClusterManager;
import org.apache.spark.scheduler.SchedulerBackend;
import org.apache.spark.scheduler.TaskScheduler;
import org.apache.spark.scheduler.TaskSchedulerImpl;

/**
 * The Spark master {@value #MASTER}: an executor of one core on each of the guest's two hosts. A standalone cluster would do the same
 * with three more JVMs, each of which takes the emulated processor as long as a test.
 */
public final class TwoHostsManager implements ExternalClusterManager {
    static final String MASTER = "verbena-two-hosts";

    /** Called by Spark, which finds this class as a service. */
    public TwoHostsManager() {}

    @Override
    public boolean canCreate(String master) {
        return master.equals(MASTER);
    }

    @Override
    public TaskScheduler createTaskScheduler(SparkContext context, String master) {
        return new TaskSchedulerImpl(context);
    }

    @Override
    public SchedulerBackend createSchedulerBackend(SparkContext context, String master, TaskScheduler scheduler) {
        return new TwoHostsBackend((TaskSchedulerImpl) scheduler, context);
    }

    @Override
    public void initialize(TaskScheduler scheduler, SchedulerBackend backend) {
        ((TaskSchedulerImpl) scheduler).initialize(backend);
    }
}
