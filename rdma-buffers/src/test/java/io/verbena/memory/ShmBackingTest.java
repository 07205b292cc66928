package io.verbena.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.testing.Tmpfs;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;

class ShmBackingTest extends SegmentBackingContractTest {
    private Tmpfs shm;

    @Override
    protected SegmentBacking open() throws Exception {
        shm = Tmpfs.directory();
        return Backings.choose(new BackingOptions("shm", shm.path(), null, "app-1.exec-3", segmentBytes()));
    }

    @Override
    protected void cleanUp() throws Exception {
        shm.close();
    }

    @Test
    void shouldKeepItsDirectoryPrivate() throws Exception {
        try (SegmentBacking backing =
                Backings.choose(new BackingOptions("auto", shm.path(), null, "a/b c", segmentBytes()))) {
            assertThat(backing.ownerDirectory().getFileName().toString()).startsWith("a_b_c.");
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(
                            backing.ownerDirectory().getParent())))
                    .isEqualTo("rwx------");
        }
    }
}
