package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import com.ibm.disni.verbs.IbvCQ;
import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import com.ibm.disni.verbs.impl.NatIbvCQ;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Completion queues of one device, all on one channel. A connection reserves an entry for everything it may have in flight, so no
 * queue can overrun, which devices answer with silence; another queue is made when all are taken.
 *
 * <p>Threads: any; guarded by this. {@link #handles} is read without a lock.
 */
final class CqPool implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CqPool.class);

    /** About 40 connections of the default depth; 1 MiB of entries. */
    private static final int ENTRIES = 16_384;

    private final IbvContext context;
    private final IbvCompChannel channel;
    private final int entries;

    private static final class Queue {
        final IbvCQ cq;
        final long handle;
        int reserved;
        boolean broken;

        Queue(IbvCQ cq) {
            this.cq = cq;
            this.handle = ((NatIbvCQ) cq).getObjId();
        }
    }

    @GuardedBy("this")
    private final List<Queue> queues = new ArrayList<>();

    private volatile long[] handles = {};

    CqPool(IbvContext context, IbvCompChannel channel, long maxEntries) {
        this.context = context;
        this.channel = channel;
        this.entries = (int) Math.min(ENTRIES, maxEntries);
    }

    /**
     * Reserves entries in one queue.
     *
     * @return the queue's handle
     * @throws IOException if the device gives no more queues
     */
    synchronized long reserve(int count) throws IOException {
        if (count > entries) {
            throw new IOException("a completion queue of this device has entries=" + entries + ", a connection needs "
                    + count + "; lower spark.shuffle.rdma.verbs.queueDepth");
        }
        for (Queue queue : queues) {
            if (!queue.broken && queue.reserved + count <= entries) {
                queue.reserved += count;
                return queue.handle;
            }
        }
        IbvCQ cq = context.createCQ(channel, entries, 0);
        if (cq == null) {
            throw new IOException("the device gives no completion queue of entries=" + entries);
        }
        Queue queue = new Queue(cq);
        queue.reserved = count;
        queues.add(queue);
        publish();
        return queue.handle;
    }

    @GuardedBy("this")
    private void publish() {
        handles =
                queues.stream().filter(q -> !q.broken).mapToLong(q -> q.handle).toArray();
    }

    /** Takes a queue that the device reports as broken out of use; returns whether it is one of these. */
    synchronized boolean retire(long handle) {
        for (Queue queue : queues) {
            if (queue.handle == handle) {
                queue.broken = true;
                publish();
                return true;
            }
        }
        return false;
    }

    /** Gives entries back; whatever the connection left in the queue has been polled. */
    synchronized void release(long handle, int count) {
        for (Queue queue : queues) {
            if (queue.handle == handle) {
                queue.reserved -= count;
            }
        }
    }

    /** Returns the queues in use; the array is not changed after. */
    long[] handles() {
        return handles;
    }

    /** Destroys the queues; no QP uses them. */
    @Override
    public synchronized void close() {
        for (Queue queue : queues) {
            try {
                int result = queue.cq.destroyCQ();
                if (result != 0) {
                    LOG.warn("a completion queue stays: errno={}, reservedEntries={}", result, queue.reserved);
                }
            } catch (IOException e) {
                LOG.warn("a completion queue stays: {}", e.toString());
            }
        }
        queues.clear();
        handles = new long[] {};
    }
}
