package io.verbena.bench.verbs;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Keeps as many reads in flight as perftest does by default, each into a place of its own; a finished read is begun again on the
 * transport's progress thread. The first failure ends the loop.
 */
final class TransportLoop implements ReadLoop {
    /** perftest's default depth. */
    private static final int DEPTH = 100;

    /** Bounds the memory of large reads; many times what the device has on the wire. */
    private static final int MAX_BYTES_IN_FLIGHT = 32 << 20;

    private static final Duration GRACE = Duration.ofSeconds(60);

    private final RemoteMemory remote;
    private final int blockBytes;
    private final long address;
    private final int rkey;
    private final ReadLease lease;
    private final List<RegisteredBuffer> places = new ArrayList<>();

    TransportLoop(RemoteMemory remote, VerbsEndpoint endpoint, long address, int rkey, int blockBytes)
            throws TransportException {
        this.remote = remote;
        this.address = address;
        this.rkey = rkey;
        this.blockBytes = blockBytes;
        lease = remote.acquireLease(1, GRACE);
        int depth = Math.min(DEPTH, MAX_BYTES_IN_FLIGHT / blockBytes);
        for (int i = 0; i < depth; i++) {
            places.add(endpoint.acquire(blockBytes));
        }
    }

    @Override
    public double readFor(Duration length) throws IOException, InterruptedException {
        long startNs = System.nanoTime();
        Run run = new Run(startNs + length.toNanos());
        long deadlineNs = startNs + length.plus(GRACE).toNanos();
        List<Again> reads =
                places.stream().map(place -> new Again(run, place, deadlineNs)).toList();
        reads.forEach(Again::begin);
        if (!run.ended.await(length.plus(GRACE).toMillis(), TimeUnit.MILLISECONDS)) {
            throw new IOException("reads did not end: blockBytes=" + blockBytes + ", pending=" + run.ended.getCount());
        }
        TransportException failure = run.failure.get();
        if (failure != null) {
            throw new IOException("a read failed: " + failure.getMessage(), failure);
        }
        long bytes = reads.stream().mapToLong(read -> read.count).sum() * blockBytes;
        return bytes * 1e9 / (System.nanoTime() - startNs);
    }

    /** What the reads of one measurement share. */
    private final class Run {
        private final long endNs;
        private final CountDownLatch ended = new CountDownLatch(places.size());
        private final AtomicReference<TransportException> failure = new AtomicReference<>();

        Run(long endNs) {
            this.endNs = endNs;
        }

        boolean goesOn() {
            return System.nanoTime() - endNs < 0 && failure.get() == null;
        }
    }

    /** One read that repeats itself. The count is written on the progress thread and read after the latch. */
    private final class Again implements ReadRequest.Listener {
        private final Run run;
        private final ReadRequest request;
        private long count;

        Again(Run run, RegisteredBuffer place, long deadlineNs) {
            this.run = run;
            this.request = new ReadRequest(place, List.of(new Range(address, rkey, blockBytes, 0)), deadlineNs, this);
        }

        void begin() {
            remote.read(request);
        }

        @Override
        public void onSuccess() {
            count++;
            if (run.goesOn()) {
                begin();
            } else {
                run.ended.countDown();
            }
        }

        @Override
        public void onFailure(TransportException cause) {
            run.failure.compareAndSet(null, cause);
            run.ended.countDown();
        }
    }

    @Override
    public void close() {
        lease.close();
        remote.close();
        places.forEach(RegisteredBuffer::release);
    }
}
