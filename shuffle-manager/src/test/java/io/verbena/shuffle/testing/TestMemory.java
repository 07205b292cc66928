package io.verbena.shuffle.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.arena.RegisteredBuffer;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.SegmentBacking;
import io.verbena.registration.MemoryRegion;
import io.verbena.registration.SoftRegistrar;
import io.verbena.shuffle.metadata.BlockLayout;
import io.verbena.shuffle.metadata.RunImage;
import io.verbena.shuffle.resolver.MapOutput;
import io.verbena.shuffle.resolver.MapOutputStore;
import io.verbena.transport.Transport;
import io.verbena.transport.loopback.LoopbackTransport;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Registered memory of one executor on plain pages. Closing it asserts that nothing is leased any more. */
public final class TestMemory implements AutoCloseable {
    private final SegmentBacking backing;
    private final SoftRegistrar registrar = new SoftRegistrar();
    private final Arena arena;
    private final Transport transport;
    private final MapOutputStore store;
    private volatile Supplier<List<MemoryRegion>> others = List::of;

    /** Creates memory of at most that many segments. */
    public TestMemory(long segmentBytes, int segments) {
        backing = Backings.choose(new BackingOptions("plain", null, null, "test", segmentBytes));
        arena = new Arena(new ArenaOptions(segments * segmentBytes, segmentBytes, 1, true), backing, registrar);
        transport = new LoopbackTransport(this::regions);
        store = new MapOutputStore(arena, transport);
    }

    private List<MemoryRegion> regions() {
        return Stream.concat(arena.regions().stream(), others.get().stream()).toList();
    }

    /** Serves regions of another source too. */
    void serve(Supplier<List<MemoryRegion>> more) {
        others = more;
    }

    /** Writes a map output of layout RECORDS: one run per element, whose blocks are the element's arrays. */
    public MapOutput.InMemory output(long mapId, BlockLayout layout, byte[][]... runs) {
        List<RegisteredBuffer> leases = new ArrayList<>();
        List<RunImage> images = new ArrayList<>();
        int partitions = runs.length == 0 ? 1 : runs[0].length;
        for (byte[][] blocks : runs) {
            long[] starts = new long[partitions + 1];
            for (int p = 0; p < partitions; p++) {
                starts[p + 1] = starts[p] + blocks[p].length;
            }
            RegisteredBuffer lease = arena.tryAcquire(RunImage.overhead(partitions) + starts[partitions]);
            assertThat(lease).as("memory for a run").isNotNull();
            int at = (int) RunImage.overhead(partitions);
            for (int p = 0; p < partitions; p++) {
                lease.buffer().put(at + (int) starts[p], blocks[p]);
            }
            leases.add(lease);
            images.add(RunImage.seal(lease.buffer(), mapId, layout, starts));
        }
        return MapOutput.InMemory.of(mapId, partitions, layout, leases, images, null);
    }

    /** Where leases come from. */
    public Arena arena() {
        return arena;
    }

    /** Serves {@link #arena}. */
    public Transport transport() {
        return transport;
    }

    /** Map outputs in {@link #arena}. */
    public MapOutputStore store() {
        return store;
    }

    @Override
    public void close() {
        store.shuffleIds().forEach(store::remove);
        arena.reclaim();
        transport.close();
        arena.close();
        backing.close();
        assertThat(arena.statistics().leases()).isZero();
        assertThat(arena.statistics().quarantinedBytes()).isZero();
        assertThat(registrar.statistics().liveRegions()).isZero();
    }
}
