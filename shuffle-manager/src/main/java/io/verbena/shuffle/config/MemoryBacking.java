package io.verbena.shuffle.config;

import java.util.Locale;

/** Which kind of pages holds map outputs; the best one to try, since each falls back to the next. */
public enum MemoryBacking {
    /** The best that works here: huge pages, then shared memory, then plain pages. */
    AUTO,
    /** Files on a hugetlbfs mount: huge pages, and neighbours on the host can map them. */
    HUGETLBFS,
    /** Files in a shared-memory directory: neighbours on the host can map them. */
    SHM,
    /** Anonymous pages: nobody else can map them, so neighbours fetch over the network stack. */
    PLAIN;

    /** Returns the name as it is written in the configuration, in lower case. */
    public String kind() {
        return name().toLowerCase(Locale.ROOT);
    }
}
