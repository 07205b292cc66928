package io.verbena.registration;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The ranges of a {@link MrCache}: which look-ups find, which nobody leases, how much they pin, and what became of the others.
 *
 * <pre>
 *   listed and leased &lt;-&gt; listed and idle -&gt; victim -&gt; given back
 *   listed and leased -&gt; dropped -&gt; victim -&gt; given back
 * </pre>
 *
 * <p>Threads: guarded by the cache's lock.
 */
final class RangeTable {
    private final long pageBytes;
    private final Map<Path, MappedFile> files = new HashMap<>();

    /** Registered and not given back yet, listed or not. */
    private final Set<MappedRange> live = new LinkedHashSet<>();

    /** Listed and not leased, the least recently used first. */
    private final Set<MappedRange> idle = new LinkedHashSet<>();

    private long pinnedBytes;
    private long idleBytes;
    private long entries;
    private long insertions;
    private long evictions;
    private long drops;

    RangeTable(long pageBytes) {
        this.pageBytes = pageBytes;
    }

    /** Bytes that a device pins for so many. */
    long pages(long bytes) {
        return (bytes + pageBytes - 1) / pageBytes * pageBytes;
    }

    /** Returns a listed range that covers {@code [offset, end)} of that very file, null if there is none. */
    MappedRange find(Path path, Object identity, long offset, long end) {
        MappedFile known = files.get(path);
        return known == null || !known.identity.equals(identity) ? null : known.covering(offset, end);
    }

    /** Lists a range without leases, which the caller adds. */
    MappedRange insert(Path path, Object identity, long offset, FilePinner.Pinned pinned) {
        MappedFile home = files.computeIfAbsent(path, p -> new MappedFile(p, identity));
        MappedRange range = new MappedRange(home, offset, pinned);
        home.ranges.add(range);
        live.add(range);
        pinnedBytes += pages(range.bytes());
        entries++;
        insertions++;
        return range;
    }

    void lease(MappedRange range) {
        if (range.leases++ == 0 && idle.remove(range)) {
            idleBytes -= pages(range.bytes());
        }
    }

    /** Ends a lease; returns whether the range is to be given back. */
    boolean release(MappedRange range) {
        if (--range.leases > 0) {
            return false;
        }
        if (!range.dropped) {
            idle.add(range);
            idleBytes += pages(range.bytes());
        }
        return range.dropped;
    }

    /** Bytes that cannot be had by evicting. */
    long keptBytes() {
        return pinnedBytes - idleBytes;
    }

    long pinnedBytes() {
        return pinnedBytes;
    }

    /** Takes out the least recently used until no more than so many bytes are left, or all that are idle. */
    List<MappedRange> evictDownTo(long bytes) {
        List<MappedRange> victims = new ArrayList<>();
        long left = pinnedBytes;
        Iterator<MappedRange> oldest = idle.iterator();
        while (oldest.hasNext() && left > bytes) {
            MappedRange victim = oldest.next();
            oldest.remove();
            idleBytes -= pages(victim.bytes());
            left -= pages(victim.bytes());
            unlist(victim);
            victims.add(victim);
        }
        evictions += victims.size();
        return victims;
    }

    /** Hides the ranges of a path from look-ups, unless they are of the given file; returns those that nobody leases. */
    List<MappedRange> drop(Path path, Object unlessOf) {
        MappedFile known = files.get(path);
        if (known == null || known.identity.equals(unlessOf)) {
            return List.of();
        }
        List<MappedRange> unused = new ArrayList<>();
        for (MappedRange range : List.copyOf(known.ranges)) {
            drops++;
            unlist(range);
            if (idle.remove(range)) {
                idleBytes -= pages(range.bytes());
                unused.add(range);
            }
        }
        return unused;
    }

    /** As {@link #drop}, for all. */
    List<MappedRange> dropAll() {
        List<MappedRange> unused = new ArrayList<>();
        List.copyOf(files.keySet()).forEach(path -> unused.addAll(drop(path, null)));
        return unused;
    }

    private void unlist(MappedRange range) {
        entries--;
        range.dropped = true;
        range.home.ranges.remove(range);
        if (range.home.ranges.isEmpty()) {
            files.remove(range.home.path, range.home);
        }
    }

    /** The ranges are not registered any more. */
    void givenBack(List<MappedRange> ranges) {
        for (MappedRange range : ranges) {
            live.remove(range);
            pinnedBytes -= pages(range.bytes());
        }
    }

    List<MemoryRegion> regions() {
        return live.stream().map(range -> range.pinned.region()).toList();
    }

    MrCacheStatistics statistics(long hits, long refusals) {
        return new MrCacheStatistics(
                hits, insertions + refusals, refusals, evictions, drops, entries, entries - idle.size(), pinnedBytes);
    }
}
