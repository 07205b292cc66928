package io.verbena.transport.verbs.engine;

import io.verbena.memory.OffHeap;
import io.verbena.threads.DaemonThreads;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.TransportException;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The progress thread of a device: drain the completion queues, spin briefly, arm, sleep. It also runs the links' tasks and looks
 * at their deadlines.
 *
 * <p>Threads: {@link #execute}, {@link #wake}, {@link #fail} and {@link #wakeForDeadline} by any, the rest by the thread itself.
 */
final class ProgressLoop {
    private static final Logger LOG = LoggerFactory.getLogger(ProgressLoop.class);

    /** Entries of one poll. */
    private static final int BATCH = 64;

    /** Lease time-outs and handshakes are looked at this often. */
    private static final long TICK_NS = TimeUnit.MILLISECONDS.toNanos(250);

    private static final long CLOSE_WAIT_MS = 10_000;

    private final Device device;
    private final long spinNs;
    private final TaskInbox inbox = new TaskInbox();
    private final int[] fds;
    private final long records;
    private final Thread thread;
    private volatile boolean stopping;
    private volatile boolean stopped;
    private volatile long wakesNs = Link.NEVER;
    private long nextTickNs = System.nanoTime();
    private boolean armed;
    private long[] armedQueues = {};
    private boolean failing;
    private boolean takingCompletions;
    private final List<ReaderLink> deferred = new ArrayList<>();

    ProgressLoop(Device device, int completionFd, long spinNs) {
        this.device = device;
        this.spinNs = spinNs;
        this.fds = new int[] {completionFd, inbox.fd()};
        this.records = OffHeap.allocate((long) BATCH * VerbsNative.WC_BYTES);
        this.thread = DaemonThreads.factory("verbs-progress-" + device.name()).newThread(this::run);
    }

    void start() {
        thread.start();
    }

    /** Runs a task on the thread; after the end, on the caller's. */
    void execute(Runnable task) {
        if (stopped) {
            task.run();
        } else {
            inbox.add(task);
            if (stopped) {
                inbox.run();
            }
        }
    }

    /** Ends a request that was not begun. */
    void fail(ReadRequest request, TransportException why) {
        execute(() -> Listeners.finish(request, why));
    }

    void wake() {
        inbox.wake();
    }

    /** Wakes the thread if it would sleep past a deadline. */
    void wakeForDeadline(long deadlineNs) {
        long wakes = wakesNs;
        if (wakes != Link.NEVER && deadlineNs - wakes < 0) {
            inbox.wake();
        }
    }

    private void run() {
        while (!stopping) {
            try {
                round();
            } catch (RuntimeException | IOException | Error e) {
                // A defect or a dying device: said once, and not at the speed of the loop.
                if (!failing) {
                    LOG.error("progress thread of {} goes on after: {}", device.name(), e.toString(), e);
                }
                failing = true;
                pause();
            }
        }
        stopped = true;
        inbox.run();
    }

    private void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(10);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void round() throws IOException {
        boolean ran = inbox.run();
        boolean worked = drain() || ran;
        // The clock is a system call on some virtual machines: read once.
        long now = System.nanoTime();
        if (now - wakeAt() >= 0) {
            nextTickNs = now + TICK_NS;
            for (Link link : device.links().slots()) {
                if (link != null) {
                    link.tick(now);
                }
            }
        }
        if (!worked && !spin(now)) {
            sleep(now);
        }
    }

    /** When links must be looked at. */
    private long wakeAt() {
        long deadline = earliestDeadline();
        return deadline != Link.NEVER && deadline - nextTickNs < 0 ? deadline : nextTickNs;
    }

    private long earliestDeadline() {
        long earliest = Link.NEVER;
        for (Link link : device.links().slots()) {
            long deadline = link == null ? Link.NEVER : link.nextDeadlineNs();
            if (deadline != Link.NEVER && (earliest == Link.NEVER || deadline - earliest < 0)) {
                earliest = deadline;
            }
        }
        return earliest;
    }

    private boolean spin(long startNs) {
        while (spinNs > 0 && System.nanoTime() - startNs < spinNs) {
            if (drain()) {
                return true;
            }
            Thread.onSpinWait();
        }
        return false;
    }

    private void sleep(long now) throws IOException {
        long[] queues = device.completionQueues().handles();
        if (!armed || queues != armedQueues) {
            for (long queue : queues) {
                VerbsNative.requestNotify(queue);
            }
            armed = true;
            armedQueues = queues;
            // What completed before the queues were armed makes no event.
            if (drain()) {
                return;
            }
        }
        if (!inbox.sleep()) {
            return;
        }
        int ready = 0;
        try {
            long until = wakeAt();
            wakesNs = until;
            int timeoutMs = (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(until - now) + 1);
            ready = VerbsNative.pollFds(fds, fds.length, device.links().isEmpty() ? -1 : timeoutMs);
        } finally {
            wakesNs = Link.NEVER;
            inbox.awake((ready & 2) != 0);
        }
        if ((ready & 1) != 0) {
            armed = false;
            int events = VerbsNative.takeCqEvents(device.completionChannel(), armedQueues.length);
            if (events < 0) {
                // A device that is gone makes its channel readable for ever.
                fds[0] = -1;
                device.removed();
            }
        }
    }

    /** Whether the caller is called for a completion: what it wants to post can wait for {@link #postLater}. */
    boolean isTakingCompletions() {
        return Thread.currentThread() == thread && takingCompletions;
    }

    /** Calls {@link ReaderLink#post} when the completions at hand are taken. */
    void postLater(ReaderLink link) {
        deferred.add(link);
    }

    /** Polls until the queues are empty; returns whether there was anything. */
    boolean drain() {
        takingCompletions = true;
        try {
            return takeCompletions();
        } finally {
            takingCompletions = false;
            for (int i = 0; i < deferred.size(); i++) {
                deferred.get(i).post();
            }
            deferred.clear();
        }
    }

    private boolean takeCompletions() {
        boolean any = false;
        for (long queue : device.completionQueues().handles()) {
            int count;
            do {
                count = VerbsNative.pollCq(queue, records, BATCH);
                if (count < 0) {
                    // Never thrown: deadlines and the end of connections must go on.
                    device.queueFailed(queue, "ibv_poll_cq failed: code=" + count);
                    break;
                }
                for (int i = 0; i < count; i++) {
                    completed(records + (long) i * VerbsNative.WC_BYTES);
                }
                any |= count > 0;
                device.counters().completions.add(count);
            } while (count == BATCH);
        }
        return any;
    }

    private void completed(long entry) {
        long wrId = OffHeap.getLong(entry);
        int status = OffHeap.getInt(entry + VerbsNative.WC_STATUS);
        Link link = device.links().get(WorkId.connection(wrId));
        if (link == null) {
            device.counters().strayCompletions.increment();
        } else if (WorkId.isReceive(wrId)) {
            link.receiveCompleted(
                    (int) WorkId.sequence(wrId), status, OffHeap.getInt(entry + VerbsNative.WC_BYTE_LENGTH));
        } else {
            link.sent(WorkId.sequence(wrId), status, OffHeap.getInt(entry + VerbsNative.WC_VENDOR_ERROR));
        }
    }

    /** Ends the thread; every link has ended. Returns false, logged, if it does not end: it may still use queues and memory. */
    boolean close() {
        stopping = true;
        // A task and not only a signal: the thread may just be on its way to sleep.
        inbox.add(() -> {});
        try {
            thread.join(CLOSE_WAIT_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            LOG.warn("progress thread of {} has not ended: its memory and queues stay", device.name());
            return false;
        }
        inbox.close();
        OffHeap.free(records);
        return true;
    }
}
