package io.verbena.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.arena.ArenaStatistics;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.OffHeap;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.Registrar;
import io.verbena.registration.SoftRegistrar;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/** Memory, arena and transport of one side; close asserts that nothing is left. */
public final class TestEndpoint implements AutoCloseable {
    /** Size of segments in tests, in bytes. */
    public static final long SEGMENT = 1 << 20;

    private final SegmentBacking backing;
    private final Registrar registrar;
    private final Arena arena;
    private final Transport transport;

    /** Opens a side in a directory on tmpfs, with a budget of eight segments. */
    public TestEndpoint(
            Path shm, String kind, BiFunction<Supplier<List<MemoryRegion>>, SegmentBacking, Transport> opener) {
        this(shm, kind, new SoftRegistrar(), opener);
    }

    /** As above, with a registrar that is closed at the end if it can be. */
    public TestEndpoint(
            Path shm,
            String kind,
            Registrar registrar,
            BiFunction<Supplier<List<MemoryRegion>>, SegmentBacking, Transport> opener) {
        this.registrar = registrar;
        backing = Backings.choose(new BackingOptions(kind, shm, null, "test", SEGMENT));
        arena = new Arena(new ArenaOptions(8 * SEGMENT, SEGMENT, 1, true), backing, registrar);
        transport = opener.apply(arena::regions, backing);
    }

    /** Returns the arena. */
    public Arena arena() {
        return arena;
    }

    /** Returns the transport. */
    public Transport transport() {
        return transport;
    }

    /** Returns the backing. */
    public SegmentBacking backing() {
        return backing;
    }

    /** Returns a lease; the caller releases it. */
    public RegisteredBuffer acquire(long bytes) {
        RegisteredBuffer buffer = arena.tryAcquire(bytes);
        assertThat(buffer).isNotNull();
        return buffer;
    }

    /** Returns a lease with random content. */
    public RegisteredBuffer acquireFilled(int bytes, long seed) {
        RegisteredBuffer buffer = acquire(bytes);
        byte[] content = content(bytes, seed);
        OffHeap.copy(content, OffHeap.BYTE_ARRAY_OFFSET, null, buffer.address(), bytes);
        return buffer;
    }

    /** Returns what {@link #acquireFilled} wrote. */
    public static byte[] content(int bytes, long seed) {
        byte[] content = new byte[bytes];
        new Random(seed).nextBytes(content);
        return content;
    }

    @Override
    public void close() {
        transport.close();
        arena.close();
        ArenaStatistics end = arena.statistics();
        assertThat(end.leases()).isZero();
        assertThat(end.committedBytes()).isZero();
        assertThat(end.quarantinedBytes()).isZero();
        assertThat(registrar.statistics().liveRegions()).isZero();
        if (registrar instanceof AutoCloseable closeable) {
            assertThatCode(closeable::close).doesNotThrowAnyException();
        }
        Path directory = backing.ownerDirectory();
        if (directory != null) {
            assertThat(directory.toFile().list()).containsExactly("owner.lock");
        }
        backing.close();
        if (directory != null) {
            assertThat(directory).doesNotExist();
        }
    }
}
