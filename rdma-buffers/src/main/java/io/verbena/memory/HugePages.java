package io.verbena.memory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A hugetlbfs mount and the pool behind it. Immutable.
 *
 * @param mount where it is mounted
 * @param pageBytes size of its pages in bytes
 */
record HugePages(Path mount, long pageBytes) {
    private static final Path MOUNTS = Path.of("/proc/mounts");
    private static final Path POOLS = Path.of("/sys/kernel/mm/hugepages");

    /**
     * Returns the mount at {@code wanted}, or the first writable one if that is null.
     *
     * @throws BackingException if there is none
     */
    static HugePages find(Path wanted) throws IOException {
        for (String line : Files.readAllLines(MOUNTS)) {
            String[] fields = line.split(" ", -1);
            if (fields.length < 4 || !fields[2].equals("hugetlbfs")) {
                continue;
            }
            Path mount = Path.of(fields[1]);
            boolean fits = wanted == null
                    ? Files.isWritable(mount)
                    : wanted.toAbsolutePath().startsWith(mount);
            if (fits) {
                return new HugePages(wanted == null ? mount : wanted, pageBytes(fields[3]));
            }
        }
        throw new BackingException(
                wanted == null
                        ? "no writable hugetlbfs mount in " + MOUNTS
                        : "directory=" + wanted + " is not on a hugetlbfs mount");
    }

    private static long pageBytes(String mountOptions) throws IOException {
        for (String option : mountOptions.split(",", -1)) {
            if (option.startsWith("pagesize=")) {
                String size = option.substring("pagesize=".length());
                long number = Long.parseLong(size.replaceAll("[^0-9]", ""));
                return size.endsWith("G") ? number << 30 : size.endsWith("M") ? number << 20 : number << 10;
            }
        }
        throw new BackingException("hugetlbfs mount without pagesize in its options=" + mountOptions);
    }

    /** @throws BackingException if not even one segment can come from the pool */
    void requireRoomFor(long segmentBytes) throws IOException {
        if (segmentBytes % pageBytes != 0) {
            throw new BackingException("segmentBytes=" + segmentBytes + " is not a multiple of the huge page of "
                    + pageBytes + " bytes of mount=" + mount);
        }
        Path pool = POOLS.resolve("hugepages-" + (pageBytes >> 10) + "kB");
        long free = number(pool.resolve("free_hugepages")) - number(pool.resolve("resv_hugepages"));
        long overcommit = number(pool.resolve("nr_overcommit_hugepages")) - number(pool.resolve("surplus_hugepages"));
        long room = (free + overcommit) * pageBytes;
        if (room < segmentBytes) {
            throw new BackingException("too few huge pages: mount=" + mount + ", freeBytes=" + room + ", neededBytes="
                    + segmentBytes + "; raise the pool (sysctl vm.nr_hugepages=...)");
        }
    }

    private static long number(Path file) throws IOException {
        return Long.parseLong(Files.readString(file).strip());
    }
}
