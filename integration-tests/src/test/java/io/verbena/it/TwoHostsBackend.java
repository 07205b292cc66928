package io.verbena.it;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.guest.GuestHost;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.TaskSchedulerImpl;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;

/**
 * Starts Spark's executor processes on the guest's hosts. Each gets its host's address, for its sockets and as the only RDMA device
 * it may use, local directories of its own, and this process's output. An executor that dies is replaced, as a cluster would.
 *
 * <p>Ownership: the processes; {@link #stop} returns when they are gone, by force after a deadline. Threads: any.
 */
final class TwoHostsBackend extends CoarseGrainedSchedulerBackend {
    private static final long STOP_SECONDS = 30;

    private final SparkContext context;

    @GuardedBy("this")
    private final List<Process> processes = new ArrayList<>();

    @GuardedBy("this")
    private boolean stopping;

    TwoHostsBackend(TaskSchedulerImpl scheduler, SparkContext context) {
        super(scheduler, context.env().rpcEnv());
        this.context = context;
    }

    @Override
    public void start() {
        super.start();
        for (GuestHost host : GuestHost.values()) {
            startExecutor(host);
        }
    }

    @Override
    public boolean sufficientResourcesRegistered() {
        return totalRegisteredExecutors().get() >= GuestHost.values().length;
    }

    private synchronized void startExecutor(GuestHost host) {
        if (stopping) {
            return;
        }
        try {
            Process process = executor(host, Integer.toString(processes.size())).start();
            processes.add(process);
            Future<?> unused = process.onExit().thenRun(() -> startExecutor(host));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start an executor: host=" + host, e);
        }
    }

    private ProcessBuilder executor(GuestHost host, String executorId) {
        SparkConf conf = context.conf();
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElseThrow());
        command.addAll(List.of(conf.get("spark.executor.extraJavaOptions").split(" ", -1)));
        command.add("-Xmx" + conf.get("spark.executor.memory"));
        command.add("-Dspark.shuffle.rdma.verbs.interfaces=" + host.address4());
        command.addAll(List.of("-cp", conf.get("spark.executor.extraClassPath")));
        command.addAll(List.of(
                "org.apache.spark.executor.CoarseGrainedExecutorBackend",
                "--driver-url",
                "spark://" + ENDPOINT_NAME() + "@" + conf.get("spark.driver.host") + ":"
                        + conf.get("spark.driver.port"),
                "--executor-id",
                executorId,
                "--hostname",
                host.address4(),
                "--cores",
                "1",
                "--app-id",
                applicationId(),
                "--resourceProfileId",
                "0"));
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().put("SPARK_LOCAL_IP", host.address4());
        builder.environment().put("SPARK_LOCAL_DIRS", conf.get("spark.local.dir") + "/" + host.name());
        return builder;
    }

    @Override
    public void stop() {
        List<Process> running;
        synchronized (this) {
            stopping = true;
            running = List.copyOf(processes);
        }
        super.stop();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
        for (Process process : running) {
            try {
                if (!process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    // Its shared memory files stay, and Cluster.close() fails on them.
                    process.destroyForcibly().onExit().join();
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }
}
