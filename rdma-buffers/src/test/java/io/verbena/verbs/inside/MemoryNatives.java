package io.verbena.verbs.inside;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ibm.disni.util.MemBuf;
import com.ibm.disni.util.MemoryAllocation;
import io.verbena.memory.OffHeap;
import io.verbena.verbs.bound.VerbsNative;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Files, mappings and limits: no device needed. */
public final class MemoryNatives implements AutoCloseable {
    private static final long LENGTH = 1 << 20;
    private static final int CAP_IPC_LOCK = 14;
    private static final int ENOMEM = 12;

    public void shouldKnowThePageSize() throws IOException {
        Process getconf = new ProcessBuilder("getconf", "PAGESIZE").start();
        String text = new String(getconf.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        assertThat(VerbsNative.pageSize()).isEqualTo(Long.parseLong(text.strip()));
    }

    public void shouldKnowTheLimitOfLockedMemory() throws IOException {
        String limit = Files.readAllLines(Path.of("/proc/self/limits")).stream()
                .filter(line -> line.startsWith("Max locked memory"))
                .map(line ->
                        line.substring("Max locked memory".length()).strip().replaceAll(" .*", ""))
                .findFirst()
                .orElseThrow();
        long expected = limit.equals("unlimited") ? -1 : Long.parseLong(limit);
        assertThat(VerbsNative.memlockLimit()).isEqualTo(expected);
    }

    public void shouldKnowTheCapability() throws IOException {
        String effective = Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
                .filter(line -> line.startsWith("CapEff:"))
                .map(line -> line.substring("CapEff:".length()).strip())
                .findFirst()
                .orElseThrow();
        boolean expected = (Long.parseUnsignedLong(effective, 16) >> CAP_IPC_LOCK & 1) == 1;
        assertThat(VerbsNative.hasIpcLock()).isEqualTo(expected);
    }

    public void shouldMapAnAnonymousFileTwiceOntoTheSameMemory() throws IOException {
        int fd = VerbsNative.createMemfd("verbena-test", false, 0);
        assertThat(fd).isNotNegative();
        assertThat(Files.readSymbolicLink(Path.of("/proc/self/fd", Integer.toString(fd))))
                .asString()
                .startsWith("/memfd:verbena-test");
        VerbsNative.setLength(fd, 2 * LENGTH);
        long writable = VerbsNative.map(fd, LENGTH, LENGTH, true);
        long readable = VerbsNative.map(fd, 0, 2 * LENGTH, false);
        VerbsNative.closeFd(fd);

        OffHeap.putLong(writable + 8, 0x1122334455667788L);

        assertThat(OffHeap.getLong(readable + LENGTH + 8)).isEqualTo(0x1122334455667788L);
        assertThat(mapping(writable)).contains("rw-s");
        assertThat(mapping(readable)).contains("r--s");
        VerbsNative.unmap(writable, LENGTH);
        VerbsNative.unmap(readable, 2 * LENGTH);
        assertThat(Path.of("/proc/self/fd", Integer.toString(fd))).doesNotExist();
    }

    public void shouldPopulate() throws IOException {
        int fd = VerbsNative.createMemfd("populate", false, 0);
        VerbsNative.setLength(fd, LENGTH);
        long address = VerbsNative.map(fd, 0, LENGTH, true);
        VerbsNative.closeFd(fd);
        assertThat(residentKib(address)).isZero();

        assertThat(VerbsNative.populate(address, LENGTH, true)).isZero();

        assertThat(residentKib(address)).isEqualTo(LENGTH / 1024);
        assertThat(VerbsNative.populate(address, LENGTH, false)).isZero();
        VerbsNative.unmap(address, LENGTH);
        assertThat(VerbsNative.populate(address, LENGTH, true)).isEqualTo(ENOMEM);
        assertThat(VerbsNative.adviseHugePages(address, LENGTH)).isEqualTo(ENOMEM);
    }

    public void shouldRefuseAnUnknownHugePageSize() {
        assertThat(VerbsNative.createMemfd("huge", true, 13)).isNegative();
    }

    public void shouldOpenFiles() throws IOException {
        Path file = Files.createTempFile("verbena-open-", ".bin");
        Files.write(file, new byte[] {1, 2, 3, 4, 5, 6, 7, 8});
        int fd = VerbsNative.openFile(file.toString(), false);
        long address = VerbsNative.map(fd, 0, 8, false);
        assertThat(OffHeap.getByte(address + 7)).isEqualTo((byte) 8);
        VerbsNative.unmap(address, 8);
        assertThatThrownBy(() -> VerbsNative.map(fd, 0, 8, true))
                .isInstanceOf(IOException.class)
                .hasMessage("mmap: Permission denied [EACCES 13]");
        assertThatThrownBy(() -> VerbsNative.setLength(fd, 16)).hasMessage("ftruncate: Invalid argument [EINVAL 22]");
        VerbsNative.closeFd(fd);
        Files.delete(file);
        assertThatThrownBy(() -> VerbsNative.openFile(file.toString(), true))
                .isInstanceOf(IOException.class)
                .hasMessage("cannot open path=" + file + ", write=true: open: No such file or directory [ENOENT 2]");
        assertThatThrownBy(() -> VerbsNative.openFile("x".repeat(4096), false)).hasMessageContaining("ENAMETOOLONG");
    }

    /** In a JVM without --add-opens: the sanitized run is one. */
    public void shouldGiveDisniTheAddressesOfItsBuffers() {
        MemBuf buffer = MemoryAllocation.getInstance().allocate(64);
        assertThat(buffer.address()).isEqualTo(OffHeap.addressOf(buffer.getBuffer()));
        buffer.free();
    }

    public void shouldRefuseWhatCannotBeMapped() {
        assertThatThrownBy(() -> VerbsNative.map(-1, 0, LENGTH, false))
                .hasMessage("mmap: Bad file descriptor [EBADF 9]");
        assertThatThrownBy(() -> VerbsNative.unmap(1, LENGTH)).hasMessage("munmap: Invalid argument [EINVAL 22]");
    }

    private static String mapping(long address) throws IOException {
        return smaps(address).get(0);
    }

    private static long residentKib(long address) throws IOException {
        return smaps(address).stream()
                .filter(line -> line.startsWith("Rss:"))
                .map(line -> line.replaceAll("[^0-9]", ""))
                .mapToLong(Long::parseLong)
                .findFirst()
                .orElseThrow();
    }

    /** Returns the lines on the mapping that starts at the address. */
    private static List<String> smaps(long address) throws IOException {
        List<String> lines = Files.readAllLines(Path.of("/proc/self/smaps"));
        String start = Long.toHexString(address) + "-";
        for (int index = 0; index < lines.size(); index++) {
            if (lines.get(index).startsWith(start)) {
                return lines.subList(index, index + 5);
            }
        }
        throw new AssertionError("no mapping at address=0x" + Long.toHexString(address));
    }

    @Override
    public void close() {}
}
