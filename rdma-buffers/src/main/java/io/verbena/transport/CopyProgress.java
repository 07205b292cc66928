package io.verbena.transport;

import io.verbena.memory.OffHeap;
import io.verbena.threads.DaemonThreads;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.TransportException.Reason;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The progress thread of a transport that reads by copying within this host: it runs requests in order, each to its one callback.
 *
 * <p>Ownership: a request's destination is posted from {@link #submit} until just before its listener is called.
 * <p>Threads: any may submit; copies and callbacks run on one thread.
 */
public final class CopyProgress implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CopyProgress.class);
    private static final long CLOSE_WAIT_SECONDS = 10;
    /** Between two looks at the deadline; 4 MiB take about half a millisecond. */
    private static final long CHUNK_BYTES = 4L << 20;

    /** Where the bytes come from. */
    public interface Source {
        /**
         * Makes the peer's memory readable until {@link #end}.
         *
         * @throws TransportException if it is not; end is not called then
         */
        void begin() throws TransportException;

        /** Returns where this process sees the range. */
        long locate(Range range) throws TransportException;

        /** Throws if reading must stop now. */
        void check() throws TransportException;

        /** Ends what begin began. */
        void end();
    }

    private final ThreadPoolExecutor thread;
    private volatile Thread current;

    /** @param name of the transport; the thread is called {@code verbena-NAME-progress} */
    public CopyProgress(String name) {
        thread = DaemonThreads.pool(name + "-progress", 1);
    }

    /**
     * Queues a request.
     *
     * @throws IllegalStateException if the destination is not held; the listener is not called then
     * @throws IllegalArgumentException if a range does not fit the destination any more; the listener is not called then
     */
    public void submit(ReadRequest request, Source source) {
        request.destination().markPosted();
        try {
            request.requireFit();
        } catch (IllegalArgumentException e) {
            request.destination().markCompleted();
            throw e;
        }
        try {
            thread.execute(() -> run(request, source));
        } catch (RejectedExecutionException e) {
            finish(request, new TransportException(Reason.CLOSED, "read refused: the transport is closed", e));
        }
    }

    private void run(ReadRequest request, Source source) {
        current = Thread.currentThread();
        TransportException failure = null;
        try {
            copy(request, source);
        } catch (TransportException e) {
            failure = e;
        } catch (RuntimeException | Error e) {
            failure = new TransportException(Reason.REMOTE_ACCESS, "read failed: " + e, e);
        }
        finish(request, failure);
        current = null;
    }

    private static void copy(ReadRequest request, Source source) throws TransportException {
        checkDeadline(request);
        source.begin();
        try {
            List<Range> ranges = request.ranges();
            long[] addresses = new long[ranges.size()];
            for (int i = 0; i < addresses.length; i++) {
                addresses[i] = source.locate(ranges.get(i));
            }
            long destination = request.destination().address();
            for (int i = 0; i < addresses.length; i++) {
                Range range = ranges.get(i);
                copyRange(request, source, addresses[i], destination + range.destinationOffset(), range.length());
            }
        } finally {
            source.end();
        }
    }

    private static void copyRange(ReadRequest request, Source source, long from, long to, long length)
            throws TransportException {
        for (long done = 0; done < length; done += CHUNK_BYTES) {
            source.check();
            checkDeadline(request);
            OffHeap.copy(null, from + done, null, to + done, Math.min(CHUNK_BYTES, length - done));
        }
    }

    private static void checkDeadline(ReadRequest request) throws TransportException {
        long lateNs = System.nanoTime() - request.deadlineNs();
        if (lateNs > 0) {
            throw new TransportException(
                    Reason.TIMEOUT,
                    "read missed its deadline: lateNs=" + lateNs + ", ranges="
                            + request.ranges().size());
        }
    }

    private static void finish(ReadRequest request, TransportException failure) {
        request.destination().markCompleted();
        try {
            if (failure == null) {
                request.listener().onSuccess();
            } else {
                request.listener().onFailure(failure);
            }
        } catch (RuntimeException e) {
            LOG.error("a read listener failed: listener={}", request.listener(), e);
        }
    }

    /** Refuses new requests and waits up to 10 seconds for the queued ones, which a closed source fails quickly. */
    @Override
    public void close() {
        thread.shutdown();
        if (Thread.currentThread().equals(current)) {
            return;
        }
        try {
            if (!thread.awaitTermination(CLOSE_WAIT_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn(
                        "reads are still running after waitedSeconds={}: queued={}",
                        CLOSE_WAIT_SECONDS,
                        thread.getQueue().size());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
