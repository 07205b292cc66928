package io.verbena.registration;

import java.nio.file.Path;
import java.util.Comparator;
import java.util.TreeSet;

/**
 * The registered ranges of one file. Ranges may overlap.
 *
 * <p>Identity: a path may come to name another file, but while a range is mapped its inode is not used again.
 * <p>Threads: guarded by the lock of the {@link MrCache}.
 */
final class MappedFile {
    private static final Comparator<MappedRange> ORDER =
            Comparator.<MappedRange>comparingLong(range -> range.offset).thenComparingLong(range -> range.end);

    final Path path;
    final Object identity;
    final TreeSet<MappedRange> ranges = new TreeSet<>(ORDER);

    MappedFile(Path path, Object identity) {
        this.path = path;
        this.identity = identity;
    }

    /** Returns a range that covers {@code [offset, end)}, null if there is none. */
    MappedRange covering(long offset, long end) {
        // Ranges that start later cannot cover it; of the others, the nearest start is the likeliest.
        for (MappedRange range : ranges.descendingSet()) {
            if (range.offset <= offset && range.end >= end) {
                return range;
            }
        }
        return null;
    }
}
