package io.verbena.registration;

/**
 * What a cache of mapped files did so far: look-ups = {@code hits + misses}, and {@code misses = refusals + evictions + drops +
 * entries}.
 *
 * @param hits look-ups answered by a range that was registered already
 * @param misses look-ups that found none
 * @param refusals misses that no range was registered for: no room, no such file, or a device did not take it
 * @param evictions ranges given up to make room
 * @param drops ranges given up because their file was forgotten, replaced, or the cache closed
 * @param entries ranges registered now
 * @param leasedEntries those of them that somebody uses
 * @param pinnedBytes bytes of all registered ranges, whole pages
 */
public record MrCacheStatistics(
        long hits,
        long misses,
        long refusals,
        long evictions,
        long drops,
        long entries,
        long leasedEntries,
        long pinnedBytes) {}
