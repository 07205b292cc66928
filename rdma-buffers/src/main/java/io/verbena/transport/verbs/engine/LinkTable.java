package io.verbena.transport.verbs.engine;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The connections of one device by number. A number comes back only after all {@code 2^22} others, long after the last completion
 * of its former owner.
 *
 * <p>Threads: any may look up, without a lock and without garbage; changes are guarded by this.
 */
final class LinkTable {
    private static final int NUMBERS = 1 << WorkId.CONNECTION_BITS;
    private static final int FIRST_SLOTS = 64;

    private volatile Link[] slots = new Link[FIRST_SLOTS];

    @GuardedBy("this")
    private int next;

    @GuardedBy("this")
    private int size;

    /** Makes a link with the next number. */
    interface Maker<T extends Link> {
        T make(int number);
    }

    synchronized <T extends Link> T add(Maker<T> maker) {
        if (2 * (size + 1) > slots.length) {
            grow();
        }
        while (slots[next & (slots.length - 1)] != null) {
            next = (next + 1) % NUMBERS;
        }
        T link = maker.make(next);
        Link[] copy = slots.clone();
        copy[next & (copy.length - 1)] = link;
        slots = copy;
        next = (next + 1) % NUMBERS;
        size++;
        return link;
    }

    /** Doubles until no two numbers share a slot. */
    @GuardedBy("this")
    private void grow() {
        int length = slots.length;
        Link[] bigger = null;
        while (bigger == null) {
            length *= 2;
            bigger = spread(length);
        }
        slots = bigger;
    }

    @GuardedBy("this")
    private Link[] spread(int length) {
        Link[] spread = new Link[length];
        for (Link link : slots) {
            if (link != null) {
                int slot = link.number() & (length - 1);
                if (spread[slot] != null) {
                    return null;
                }
                spread[slot] = link;
            }
        }
        return spread;
    }

    /** Returns the connection with this number, null if it is gone. */
    Link get(int number) {
        Link[] now = slots;
        Link link = now[number & (now.length - 1)];
        return link != null && link.number() == number ? link : null;
    }

    synchronized void remove(Link link) {
        Link[] copy = slots.clone();
        int slot = link.number() & (copy.length - 1);
        if (copy[slot] == link) {
            copy[slot] = null;
            slots = copy;
            size--;
            notifyAll();
        }
    }

    /** Waits until all connections have ended; returns whether they have. */
    synchronized boolean awaitEmpty(long timeoutMs) {
        long deadlineNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        try {
            while (size > 0 && System.nanoTime() - deadlineNs < 0) {
                TimeUnit.NANOSECONDS.timedWait(this, deadlineNs - System.nanoTime());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return size == 0;
    }

    /** Returns the slots, null where none is: for a look that makes no garbage. The array does not change. */
    Link[] slots() {
        return slots;
    }

    List<Link> all() {
        List<Link> all = new ArrayList<>();
        for (Link link : slots) {
            if (link != null) {
                all.add(link);
            }
        }
        return all;
    }

    synchronized boolean isEmpty() {
        return size == 0;
    }
}
