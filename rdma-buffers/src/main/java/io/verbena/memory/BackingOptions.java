package io.verbena.memory;

import java.nio.file.Path;

/**
 * How to choose a backing.
 *
 * @param kind the best kind to try: {@code auto} or {@code hugetlbfs} (then shm, then plain), {@code shm} (then plain), {@code plain}
 * @param shmDirectory a tmpfs directory, usually /dev/shm
 * @param hugetlbfsDirectory a hugetlbfs mount; null = look in /proc/mounts
 * @param ownerName names this process to people who look into the directory, for example app-1.exec-3
 * @param segmentBytes size of the segments that will be asked for, in bytes
 */
public record BackingOptions(
        String kind, Path shmDirectory, Path hugetlbfsDirectory, String ownerName, long segmentBytes) {}
