package org.apache.spark.shuffle.rdma;

import io.verbena.registration.MemoryRegion;
import io.verbena.registration.MrCache;
import io.verbena.registration.MrCacheStatistics;
import io.verbena.registration.Registrar;
import io.verbena.registration.SoftRegistrar;
import io.verbena.shuffle.config.RdmaConf;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.resolver.PinnedFiles;
import io.verbena.shuffle.resolver.StockFiles;
import io.verbena.transport.Transport;
import io.verbena.transport.mapped.MappedTransport;
import io.verbena.transport.verbs.Verbs;
import io.verbena.transport.verbs.VerbsDevices;
import io.verbena.transport.verbs.VerbsStatistics;
import io.verbena.transport.ways.WaysTransport;
import io.verbena.verbs.VerbsUnavailableException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ways that lead to this executor's memory and from it to others': mapping on the host, RDMA between hosts. A way that is not
 * to be had is said once, with its reason; Spark's block transfer is always there.
 *
 * <p>Ownership: close after the transport and the arena. Threads: immutable.
 */
final class ExecutorWays implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorWays.class);

    private final boolean mapped;
    private final VerbsDevices devices;
    private final Registrar registrar;
    private final MrCache files;

    private ExecutorWays(boolean mapped, VerbsDevices devices, long fileCacheBytes) {
        this.mapped = mapped;
        this.devices = devices;
        this.files = devices == null || fileCacheBytes == 0 ? null : new MrCache(devices, fileCacheBytes);
        this.registrar = devices == null ? new SoftRegistrar() : devices;
    }

    /** @param libraryDirectories where native libraries may be unpacked if the temporary directory forbids execution */
    static ExecutorWays open(RdmaConf conf, List<Path> libraryDirectories) {
        if (!conf.mappedEnabled()) {
            LOG.info("executors of this host are not read in place: spark.shuffle.rdma.mapped.enabled is false, its"
                    + " default on YARN");
        }
        return new ExecutorWays(
                conf.mappedEnabled(),
                conf.verbsEnabled() ? openDevices(conf, libraryDirectories) : null,
                conf.verbsFileCache());
    }

    private static VerbsDevices openDevices(RdmaConf conf, List<Path> libraryDirectories) {
        try {
            VerbsDevices devices = Verbs.open(conf.verbsOptions(libraryDirectories));
            devices.describe().forEach(device -> LOG.info("RDMA device is used: {}", device));
            return devices;
        } catch (VerbsUnavailableException e) {
            LOG.info("RDMA is not used, other hosts are read over the network: {}", e.getMessage());
            LOG.debug("RDMA is not used", e);
            return null;
        }
    }

    /** Returns what registers this executor's memory. */
    Registrar registrar() {
        return registrar;
    }

    /** Whether peers' memory can be read at all, other than over Spark's block transfer. */
    boolean leadToPeers() {
        return mapped || devices != null;
    }

    /**
     * Opens the endpoint; once.
     *
     * @param leaseDirectory where neighbours find the segments, null if they cannot be shared
     */
    Transport transport(Supplier<List<MemoryRegion>> regions, Path leaseDirectory) {
        List<Transport> parts = new ArrayList<>();
        if (mapped || devices == null) {
            parts.add(openMapped(regions, mapped ? leaseDirectory : null));
        }
        if (devices != null) {
            parts.add(devices.transport(files == null ? regions : () -> withFiles(regions.get())));
        }
        return new WaysTransport(parts);
    }

    private List<MemoryRegion> withFiles(List<MemoryRegion> memory) {
        List<MemoryRegion> all = new ArrayList<>(memory);
        all.addAll(files.regions());
        return all;
    }

    /**
     * Returns what makes files readable for peers, null if that is not possible or not wanted.
     *
     * @param endpoint what {@link #transport} returned
     */
    PinnedFiles pinnedFiles(StockFiles stock, Transport endpoint, ShuffleCounters counters) {
        return files == null
                ? null
                : new PinnedFiles(
                        files,
                        stock,
                        endpoint,
                        counters,
                        devices.registrationCost().breakEvenBytes());
    }

    /** Returns what the cache of registered files has done, null if there is none. */
    MrCacheStatistics files() {
        return files == null ? null : files.statistics();
    }

    /** Without a lease file nothing can be shared; the shuffle works all the same. */
    private static Transport openMapped(Supplier<List<MemoryRegion>> regions, Path leaseDirectory) {
        try {
            return new MappedTransport(regions, leaseDirectory);
        } catch (UncheckedIOException e) {
            LOG.warn("neighbours cannot map this executor's memory and read it over the network: {}", e.toString());
            return new MappedTransport(regions, null);
        }
    }

    /** Returns what the RDMA devices have done, null if there are none. */
    VerbsStatistics verbs() {
        return devices == null ? null : devices.verbsStatistics();
    }

    @Override
    public void close() {
        if (files != null) {
            files.close();
        }
        if (devices != null) {
            devices.close();
        }
    }
}
