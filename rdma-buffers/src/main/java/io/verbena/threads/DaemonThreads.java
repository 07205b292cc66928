package io.verbena.threads;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Makes daemon threads: a library must not keep an executor's JVM alive. Threads: stateless. */
public final class DaemonThreads {
    private static final long IDLE_SECONDS = 10;

    private DaemonThreads() {}

    /**
     * Returns a factory of daemon threads.
     *
     * @param name what the thread does; the thread is called {@code verbena-NAME-ORDINAL}
     */
    public static ThreadFactory factory(String name) {
        AtomicInteger ordinal = new AtomicInteger();
        return task -> {
            Thread thread = new Thread(task, "verbena-" + name + "-" + ordinal.getAndIncrement());
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Returns an executor of at most {@code threads} threads that end when they are idle for 10 seconds. */
    public static ThreadPoolExecutor pool(String name, int threads) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                threads, threads, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory(name));
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    /** Returns a scheduler of one thread that ends when there is nothing to do for 10 seconds. */
    public static ScheduledThreadPoolExecutor scheduler(String name) {
        ScheduledThreadPoolExecutor scheduler = new ScheduledThreadPoolExecutor(1, factory(name));
        scheduler.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
        scheduler.allowCoreThreadTimeOut(true);
        scheduler.setRemoveOnCancelPolicy(true);
        return scheduler;
    }
}
