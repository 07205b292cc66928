package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.transport.CountedLease;
import io.verbena.transport.ReadLease;
import io.verbena.transport.TransportException;
import io.verbena.transport.TransportException.Reason;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The reader's side of the leases on one connection. The owner is asked once per key, whoever holds it here, and told when the
 * last holder is gone. The owner hears from this side at least three times per lease time-out, and an owner that does not answer
 * for one is given up.
 *
 * <p>Threads: holders call from any thread; the rest is guarded by the link.
 */
final class Leases {
    private static final int PINGS_PER_TIMEOUT = 3;

    private record Unsent(int type, int key, Hold hold) {}

    private static final class Hold {
        final CompletableFuture<Void> granted = new CompletableFuture<>();
        int holders = 1;
    }

    private final ReaderLink link;

    @GuardedBy("link")
    private final Map<Integer, Hold> holds = new HashMap<>();

    @GuardedBy("link")
    private final Map<Long, Hold> asked = new HashMap<>();

    @GuardedBy("link")
    private final Deque<Unsent> unsent = new ArrayDeque<>();

    @GuardedBy("link")
    private long nextNumber;

    @GuardedBy("link")
    private int unanswered;

    @GuardedBy("link")
    private long lastSentNs = System.nanoTime();

    @GuardedBy("link")
    private long waitingSinceNs;

    @GuardedBy("link")
    private long timeoutNs = TimeUnit.SECONDS.toNanos(30);

    @GuardedBy("link")
    private Runnable whenIdle;

    Leases(ReaderLink link) {
        this.link = link;
    }

    /** The owner's lease time-out, as it said when the connection was made. */
    void timeout(int milliseconds) {
        synchronized (link) {
            timeoutNs = TimeUnit.MILLISECONDS.toNanos(milliseconds);
        }
    }

    ReadLease acquire(int key, Duration timeout) throws TransportException {
        Hold hold;
        synchronized (link) {
            TransportException broken = link.brokenBy();
            if (broken != null) {
                throw new TransportException(broken.reason(), "no lease: " + broken.getMessage(), broken);
            }
            hold = holds.get(key);
            if (hold == null) {
                hold = new Hold();
                holds.put(key, hold);
                unsent.add(new Unsent(Message.LEASE, key, hold));
                pumpMessages();
            } else {
                hold.holders++;
            }
        }
        ReadLease lease = new CountedLease(key, new Release(key, hold));
        boolean granted = false;
        try {
            hold.granted.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            granted = true;
            return lease;
        } catch (TimeoutException e) {
            throw new TransportException(
                    Reason.TIMEOUT,
                    "no lease within timeoutMs=" + timeout.toMillis() + ": key=" + key + "; " + link,
                    e);
        } catch (ExecutionException e) {
            Reason reason = e.getCause() instanceof TransportException cause ? cause.reason() : Reason.PEER_GONE;
            throw new TransportException(reason, "no lease: " + e.getCause().getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TransportException(Reason.TIMEOUT, "interrupted while waiting for a lease: key=" + key, e);
        } finally {
            if (!granted) {
                lease.close();
            }
        }
    }

    /** What the close of a lease does. */
    private final class Release implements Runnable {
        private final int key;
        private final Hold hold;

        Release(int key, Hold hold) {
            this.key = key;
            this.hold = hold;
        }

        @Override
        public void run() {
            Runnable idle = null;
            synchronized (link) {
                hold.holders--;
                // After the connection has ended, the map is empty or holds another one's.
                if (hold.holders == 0 && holds.remove(key, hold)) {
                    unsent.add(new Unsent(Message.RELEASE, key, null));
                    pumpMessages();
                    idle = holds.isEmpty() ? whenIdle : null;
                }
            }
            if (idle != null) {
                idle.run();
            }
        }
    }

    /** Runs the action once no lease is held: now or later. */
    void whenIdle(Runnable action) {
        synchronized (link) {
            if (!holds.isEmpty()) {
                whenIdle = action;
                return;
            }
        }
        action.run();
    }

    /** Sends what may be sent; the caller holds the link's lock. */
    void pumpMessages() {
        synchronized (link) {
            while (!unsent.isEmpty() && unanswered < Message.MAX_UNANSWERED) {
                Unsent next = unsent.peek();
                if (!link.trySend(next.type(), next.key(), nextNumber)) {
                    return;
                }
                unsent.remove();
                sent();
                if (next.hold() != null) {
                    asked.put(nextNumber, next.hold());
                }
                nextNumber++;
            }
        }
    }

    @GuardedBy("link")
    private void sent() {
        lastSentNs = System.nanoTime();
        if (unanswered++ == 0) {
            waitingSinceNs = lastSentNs;
        }
    }

    /** The owner has done what message {@code number} asked. */
    void answered(int key, long number) {
        synchronized (link) {
            unanswered--;
            waitingSinceNs = System.nanoTime();
            Hold hold = asked.remove(number);
            if (hold != null) {
                hold.granted.complete(null);
            }
            pumpMessages();
        }
    }

    void tick(long nowNs) {
        synchronized (link) {
            if (unanswered > 0 && nowNs - waitingSinceNs > timeoutNs) {
                link.breakOff(new TransportException(
                        Reason.PEER_GONE,
                        "the owner did not answer within leaseTimeoutMs=" + TimeUnit.NANOSECONDS.toMillis(timeoutNs)
                                + "; " + link));
            } else if (unanswered == 0 && nowNs - lastSentNs > timeoutNs / PINGS_PER_TIMEOUT) {
                unsent.add(new Unsent(Message.PING, 0, null));
                pumpMessages();
            }
        }
    }

    void ended(TransportException why) {
        synchronized (link) {
            holds.values().forEach(hold -> hold.granted.completeExceptionally(why));
            holds.clear();
            asked.clear();
            unsent.clear();
        }
    }
}
