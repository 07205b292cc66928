package io.verbena.shuffle.sort;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Arrays;
import java.util.NoSuchElementException;
import scala.Tuple2;
import scala.collection.AbstractIterator;

/**
 * Sorted records in memory, which can be moved to disk while they are read.
 *
 * <p>Threads: one reads, any may call {@link #moveTo}. The reader claims some records at a time under {@code lock}, so that reading
 * one needs no lock; only unclaimed records move. Nothing is called with the lock held that could wait for Spark's memory manager,
 * which calls {@link #moveTo} with its own held.
 */
final class MemoryRun extends AbstractIterator<Tuple2<Object, Object>> {
    private static final int CLAIM = 128;

    private final Object lock = new Object();

    @GuardedBy("lock")
    private Object[] records;

    @GuardedBy("lock")
    private int position;

    private final int end;

    @GuardedBy("lock")
    private SpilledRun moved;

    /** Claimed records, the reader's own. */
    private final Object[] claimed = new Object[CLAIM];

    private int nextClaimed;
    private int claimedEnd;
    private SpilledRun rest;

    MemoryRun(Object[] records, int count) {
        this.records = records;
        this.end = count;
    }

    @Override
    public boolean hasNext() {
        return nextClaimed < claimedEnd || (rest != null ? rest.hasNext() : claim());
    }

    @Override
    @SuppressWarnings("unchecked")
    public Tuple2<Object, Object> next() {
        if (!hasNext()) {
            throw new NoSuchElementException("no more sorted records");
        }
        return rest != null && nextClaimed == claimedEnd
                ? rest.next()
                : (Tuple2<Object, Object>) claimed[nextClaimed++];
    }

    private boolean claim() {
        synchronized (lock) {
            if (moved != null) {
                rest = moved;
                return rest.hasNext();
            }
            int count = Math.min(CLAIM, end - position);
            if (count == 0) {
                return false;
            }
            System.arraycopy(records, position, claimed, 0, count);
            // What has been read need not stay in memory until all has.
            Arrays.fill(records, position, position + count, null);
            position += count;
            nextClaimed = 0;
            claimedEnd = count;
            return true;
        }
    }

    /** Lets go of all but what has been claimed, which the file then has; returns whether there was anything to let go of. */
    boolean moveTo(SpillFiles files) {
        synchronized (lock) {
            if (records == null) {
                return false;
            }
            if (position < end) {
                moved = files.write(records, position, end);
                if (moved == null) {
                    // The task has ended.
                    return false;
                }
            }
            records = null;
            return true;
        }
    }
}
