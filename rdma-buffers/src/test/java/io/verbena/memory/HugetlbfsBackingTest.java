package io.verbena.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.verbena.testing.Tmpfs;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Needs root, to size the pool of huge pages and to mount hugetlbfs; both are restored. */
class HugetlbfsBackingTest extends SegmentBackingContractTest {
    private static final Path POOL = Path.of("/proc/sys/vm/nr_hugepages");
    private static final int PAGES = 16;

    private Tmpfs mount;
    private String pagesBefore;

    @Override
    protected long segmentBytes() {
        return 4 << 20;
    }

    @Override
    protected SegmentBacking open() throws Exception {
        boolean root = Tmpfs.canMount();
        if (!root) {
            System.err.println("HugetlbfsBackingTest is skipped: only root can mount hugetlbfs and size its pool");
        }
        assumeTrue(root, "only root can mount hugetlbfs and size its pool");
        pagesBefore = poolPages();
        Files.writeString(POOL, Integer.toString(PAGES));
        int given = Integer.parseInt(poolPages());
        if (given < PAGES) {
            Files.writeString(POOL, pagesBefore);
        }
        assertThat(given)
                .as("huge pages of 2 MiB that this machine can give (memory is fragmented or too small if fewer)")
                .isGreaterThanOrEqualTo(PAGES);
        mount = Tmpfs.mount("hugetlbfs", "pagesize=2M");
        SegmentBacking backing =
                Backings.choose(new BackingOptions("hugetlbfs", mount.path(), mount.path(), "app", segmentBytes()));
        assertThat(backing.name()).isEqualTo("hugetlbfs");
        return backing;
    }

    /** A sysctl gives its value to the first read only, and Files.readString begins with one byte. */
    private static String poolPages() throws IOException {
        try (InputStream in = Files.newInputStream(POOL)) {
            byte[] buffer = new byte[32];
            return new String(buffer, 0, in.read(buffer), StandardCharsets.US_ASCII).strip();
        }
    }

    @Override
    protected void cleanUp() throws Exception {
        if (mount != null) {
            mount.close();
        }
        Files.writeString(POOL, pagesBefore);
    }

    @Test
    void shouldFallToTheNextBackingWhenThePoolIsExhausted() throws Exception {
        try (Tmpfs shm = Tmpfs.directory();
                ChainedBacking backing = (ChainedBacking) Backings.choose(
                        new BackingOptions("auto", shm.path(), mount.path(), "exhaust", segmentBytes()))) {
            assertThat(backing.name()).isEqualTo("hugetlbfs");
            int segments = (int) (PAGES * (2L << 20) / segmentBytes());
            for (int i = 0; i < segments; i++) {
                Segment segment = backing.allocate(10_000 + i, segmentBytes());
                OffHeap.zero(segment.address(), segment.length());
            }
            Segment next = backing.allocate(20_000, segmentBytes());
            assertThat(backing.name()).isEqualTo("shm");
            assertThat(next.file().path()).startsWith(shm.path());
            assertThat(backing.lastDemotion()).hasMessageContaining("vm.nr_hugepages");
        }
    }
}
