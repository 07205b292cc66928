package io.verbena.transport;

import java.util.concurrent.atomic.AtomicBoolean;

/** A lease that runs an action once when it is closed. Threads: any. */
public final class CountedLease implements ReadLease {
    private final int key;
    private final Runnable onClose;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** @param onClose run by the first close only */
    public CountedLease(int key, Runnable onClose) {
        this.key = key;
        this.onClose = onClose;
    }

    @Override
    public int key() {
        return key;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            onClose.run();
        }
    }
}
