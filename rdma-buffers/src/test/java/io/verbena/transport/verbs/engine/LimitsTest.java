package io.verbena.transport.verbs.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimitsTest {
    private static final long MIB = 1 << 20;

    @Test
    void shouldNameTheLimitOnLockedMemoryAndItsRemedy() {
        assertThat(Limits.problem(64 * MIB, Long.MAX_VALUE, 8 * MIB, false))
                .contains("RLIMIT_MEMLOCK=8388608", "needed=67108864", "ulimit -l unlimited", "IPC_LOCK");
    }

    @Test
    void shouldNotMindALimitThatIsHighEnoughAbsentOrLifted() {
        assertThat(Limits.problem(64 * MIB, Long.MAX_VALUE, 64 * MIB, false)).isNull();
        assertThat(Limits.problem(64 * MIB, Long.MAX_VALUE, -1, false)).isNull();
        assertThat(Limits.problem(64 * MIB, Long.MAX_VALUE, 0, true)).isNull();
    }

    @Test
    void shouldFindTheTightestGroupAboveThisProcess(@TempDir Path directory) throws Exception {
        Path mount = directory.resolve("cgroup");
        Path inner = mount.resolve("slice/executor");
        Files.createDirectories(inner);
        Files.writeString(mount.resolve("slice/memory.max"), Long.toString(32 * MIB) + "\n");
        Files.writeString(inner.resolve("memory.max"), "max\n");
        Files.writeString(inner.resolve("rdma.max"), "mlx5_0 hca_handle=2 hca_object=2000\n");
        Path membership = directory.resolve("membership");
        Files.writeString(membership, "0::/slice/executor\n");

        assertThat(CgroupLimits.tighterThan(64 * MIB, mount, membership))
                .satisfiesExactly(
                        rdma -> assertThat(rdma).contains("hca_object=2000"),
                        memory -> assertThat(memory).contains("memory.max=33554432", "67108864", "memoryOverhead"));
        assertThat(CgroupLimits.tighterThan(16 * MIB, mount, membership)).hasSize(1);
        assertThat(CgroupLimits.tighterThan(64 * MIB, mount, directory.resolve("none")))
                .isEmpty();
    }
}
