package io.verbena.shuffle.config;

/** Which kind of pages holds map outputs. */
public enum MemoryBacking {
    /** The best that works here: huge pages, then shared memory, then plain pages. */
    AUTO,
    /** Files on a hugetlbfs mount: huge pages, and neighbours on the host can map them. */
    HUGETLBFS,
    /** Files in a shared-memory directory: neighbours on the host can map them. */
    SHM,
    /** Anonymous pages: nobody else can map them, so neighbours fetch over the network stack. */
    PLAIN
}
