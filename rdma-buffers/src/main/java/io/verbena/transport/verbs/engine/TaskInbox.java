package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tasks of a thread that otherwise waits for file descriptors. A task that arrives while the thread is awake costs no system
 * call.
 *
 * <p>Threads: any may add; one runs and waits. Ownership: closed after the waiting thread has ended.
 */
final class TaskInbox implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TaskInbox.class);

    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean asleep = new AtomicBoolean();
    private final int fd;

    @GuardedBy("this")
    private boolean closed;

    TaskInbox() {
        try {
            fd = VerbsNative.eventFd();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make an eventfd: " + e.getMessage(), e);
        }
    }

    /** Adds a task; after {@link #close} nobody runs it. */
    void add(Runnable task) {
        tasks.add(task);
        wake();
    }

    void wake() {
        if (asleep.compareAndSet(true, false)) {
            signal();
        }
    }

    /** Under the lock: a number that has been closed may be another file's by now. */
    private synchronized void signal() {
        if (!closed) {
            VerbsNative.signal(fd);
        }
    }

    /** Runs what has been added; returns whether there was anything. */
    boolean run() {
        boolean any = false;
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            any = true;
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                LOG.error("a task of {} failed: {}", Thread.currentThread().getName(), e.toString(), e);
            }
        }
        return any;
    }

    /** Announces that the thread is about to wait for {@link #fd}; returns false if it must not. */
    boolean sleep() {
        asleep.set(true);
        if (tasks.isEmpty()) {
            return true;
        }
        asleep.set(false);
        return false;
    }

    /**
     * Ends {@link #sleep}.
     *
     * @param signalled whether {@link #fd} was found readable; a signal may also come later, and is found then
     */
    void awake(boolean signalled) {
        asleep.set(false);
        if (signalled) {
            VerbsNative.clear(fd);
        }
    }

    int fd() {
        return fd;
    }

    @Override
    public synchronized void close() {
        closed = true;
        VerbsNative.closeFd(fd);
    }
}
