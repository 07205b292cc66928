package io.verbena.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Backings in order of preference. When one is exhausted, that segment and all later ones come from the next; segments that were
 * allocated stay where they are.
 *
 * <p>Threads: any; guarded by this, not held across a call of a backing.
 */
final class ChainedBacking implements SegmentBacking {
    private static final Logger LOG = LoggerFactory.getLogger(ChainedBacking.class);

    private final List<SegmentBacking> chain;

    @GuardedBy("this")
    private int current;

    @GuardedBy("this")
    private BackingException lastDemotion;

    /** @param chain best first, not empty; closed with this */
    ChainedBacking(List<SegmentBacking> chain) {
        this.chain = List.copyOf(chain);
    }

    @Override
    public String name() {
        return chain.get(current()).name();
    }

    @Override
    public Segment allocate(int id, long bytes) throws BackingException {
        while (true) {
            int tried = current();
            try {
                return chain.get(tried).allocate(id, bytes);
            } catch (BackingException e) {
                // An interrupted task says nothing about the memory.
                if (tried == chain.size() - 1 || e.getCause() instanceof ClosedByInterruptException) {
                    throw e;
                }
                demote(tried, e);
            }
        }
    }

    private synchronized int current() {
        return current;
    }

    private synchronized void demote(int tried, BackingException cause) {
        if (current == tried) {
            current = tried + 1;
            lastDemotion = cause;
            LOG.warn(
                    "segments come from {} instead of {} from now on: {}",
                    chain.get(current).name(),
                    chain.get(tried).name(),
                    cause.getMessage());
        }
    }

    /** Returns why the last step down the chain was taken, null if none was. */
    synchronized BackingException lastDemotion() {
        return lastDemotion;
    }

    @Override
    public void free(Segment segment) {
        segment.origin().free(segment);
    }

    @Override
    public Path ownerDirectory() {
        return chain.stream()
                .map(SegmentBacking::ownerDirectory)
                .filter(directory -> directory != null)
                .findFirst()
                .orElse(null);
    }

    @Override
    public void close() {
        chain.forEach(SegmentBacking::close);
    }
}
