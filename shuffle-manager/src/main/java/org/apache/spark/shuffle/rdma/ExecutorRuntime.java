package org.apache.spark.shuffle.rdma;

import io.verbena.arena.Arena;
import io.verbena.arena.ArenaOptions;
import io.verbena.arena.ArenaStatistics;
import io.verbena.memory.BackingOptions;
import io.verbena.memory.Backings;
import io.verbena.memory.SegmentBacking;
import io.verbena.shuffle.config.RdmaConf;
import io.verbena.shuffle.metrics.ShuffleCounters;
import io.verbena.shuffle.reader.BlockClient;
import io.verbena.shuffle.reader.PeerRegistry;
import io.verbena.shuffle.reader.PeerResources;
import io.verbena.shuffle.reader.ReaderResources;
import io.verbena.shuffle.resolver.BlockServer;
import io.verbena.shuffle.resolver.Evictor;
import io.verbena.shuffle.resolver.MapOutputStore;
import io.verbena.shuffle.resolver.PinnedFiles;
import io.verbena.shuffle.resolver.StockFiles;
import io.verbena.shuffle.writer.StagingPool;
import io.verbena.shuffle.writer.WriterResources;
import io.verbena.threads.DaemonThreads;
import io.verbena.transport.Transport;
import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Everything an executor needs to shuffle in memory: built at its first use, torn down with the shuffle manager.
 *
 * <p>Ownership: owns memory, transport, store and threads, and closes them in the reverse order. If the process is killed the
 * kernel drops its locks, and the next start on the host removes its files.
 *
 * <p>Threads: any.
 */
final class ExecutorRuntime implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ExecutorRuntime.class);

    /** Descriptors and directories that are fetched at the same time; each thread mostly waits. */
    private static final int CONTROL_THREADS = 64;

    /** How long a shutdown waits for tasks to let go of memory. */
    private static final long CLOSE_WAIT_NS = TimeUnit.SECONDS.toNanos(2);

    private static final String FETCH_TO_FILE = "spark.network.maxRemoteBlockSizeFetchToMem";

    private final SegmentBacking backing;
    private final ExecutorWays ways;
    private final Arena arena;
    private final Transport transport;
    private final MapOutputStore store;
    private final StockFiles files;
    private final Evictor evictor;
    private final BlockServer server;

    /** Null where files cannot be made readable. */
    private final PinnedFiles pins;

    private final PeerRegistry peers;
    private final WriterResources writers;
    private final ReaderResources readers;
    private final ShuffleCounters counters = new ShuffleCounters();
    private final ThreadPoolExecutor control;
    private final ThreadPoolExecutor memoryWork;
    private final ScheduledExecutorService timer;
    private final Thread removeFiles;

    ExecutorRuntime(RdmaConf conf, SparkConf sparkConf, SparkEnv env, IndexShuffleBlockResolver resolver) {
        BlockManager blockManager = env.blockManager();
        String owner = sparkConf.get("spark.app.id", "app") + "." + env.executorId();
        control = DaemonThreads.pool("control", CONTROL_THREADS);
        memoryWork = DaemonThreads.pool("memory", 1);
        timer = DaemonThreads.scheduler("timer");
        backing = Backings.choose(new BackingOptions(
                conf.backing().kind(),
                Path.of(conf.shmDirectory()),
                conf.hugetlbfsDirectory() == null ? null : Path.of(conf.hugetlbfsDirectory()),
                owner,
                conf.segmentSize()));
        removeFiles = removeFilesAtExit(backing.ownerDirectory());
        ways = ExecutorWays.open(
                conf,
                Arrays.stream(blockManager.diskBlockManager().localDirs())
                        .map(File::toPath)
                        .toList());
        // A task that needs memory waits for one segment; more is made ahead of need, by prewarming.
        arena = new Arena(
                new ArenaOptions(conf.memorySize(), conf.segmentSize(), 1, conf.exactLeakTracking()),
                backing,
                ways.registrar());
        transport = ways.transport(arena::regions, backing.ownerDirectory());
        store = new MapOutputStore(arena, transport);
        files = new StockFiles(sparkConf, resolver, env.serializerManager());
        evictor = new Evictor(arena, store, files, counters, memoryWork, conf.highWaterMark());
        pins = ways.pinnedFiles(files, transport, counters);
        server = new BlockServer(store, files, transport, counters, pins);
        BlockClient client = (peer, ids, listener, downloads) -> blockManager
                .blockStoreClient()
                .fetchBlocks(peer.host(), peer.port(), peer.executorId(), ids, listener, downloads);
        peers = new PeerRegistry(new PeerResources(
                transport, arena, client, counters, control, conf.fetchTimeoutMs(), conf.verbsRetryIntervalMs()));
        writers = new WriterResources(
                arena,
                conf.segmentSize(),
                store,
                files,
                evictor,
                new StagingPool(Math.toIntExact(conf.stagingSize())),
                blockManager.diskBlockManager(),
                env.serializerManager(),
                conf.followSparkCompression() && sparkConf.getBoolean("spark.shuffle.compress", true));
        readers = new ReaderResources(
                env.executorId(),
                store,
                server,
                ways.leadToPeers() ? peers : null,
                client,
                env.serializerManager(),
                conf.fetchTimeoutMs(),
                conf.maxBytesInFlight(),
                sparkConf.getSizeAsBytes(FETCH_TO_FILE, "200m"),
                () -> blockManager.diskBlockManager().createTempLocalBlock()._2(),
                conf.sortEnabled());
        memoryWork.execute(() -> arena.prewarm(conf.prewarm()));
        long idleNs = TimeUnit.MILLISECONDS.toNanos(conf.leaseIdleMs());
        every(conf.leaseIdleMs(), () -> peers.closeIdle(idleNs));
        if (pins != null) {
            every(conf.leaseIdleMs(), pins::sweep);
        }
        long trimNs = TimeUnit.MILLISECONDS.toNanos(conf.trimIdleMs());
        every(conf.trimIdleMs(), () -> arena.trim(trimNs));
        LOG.info(
                "shuffle memory is ready: executor={}, backing={}, budgetBytes={}, segmentBytes={}",
                env.executorId(),
                backing.name(),
                conf.memorySize(),
                conf.segmentSize());
    }

    /** A round that fails is logged; the next one comes all the same. */
    private void every(long periodMs, Runnable round) {
        Future<?> unused = timer.scheduleWithFixedDelay(
                () -> {
                    try {
                        round.run();
                    } catch (RuntimeException e) {
                        LOG.warn("housekeeping failed and is tried again in {} ms: {}", periodMs, e.toString(), e);
                    }
                },
                periodMs,
                periodMs,
                TimeUnit.MILLISECONDS);
    }

    /** Unlinks only: tasks may still read the memory while the process ends. */
    private static Thread removeFilesAtExit(Path directory) {
        if (directory == null) {
            return null;
        }
        Thread hook = new Thread(() -> removeTree(directory), "verbena-exit");
        Runtime.getRuntime().addShutdownHook(hook);
        return hook;
    }

    private static void removeTree(Path directory) {
        if (directory == null) {
            return;
        }
        // Not Files.walk: it gives up when a file vanishes. At exit a closing executor removes the same files at the
        // same time, and is cut off when this hook ends.
        try {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
                for (Path file : files) {
                    Files.deleteIfExists(file);
                }
            }
            Files.deleteIfExists(directory);
        } catch (NoSuchFileException e) {
            LOG.debug("removed already: directory={}", directory);
        } catch (IOException | RuntimeException e) {
            LOG.warn(
                    "cannot remove shared memory files: directory={}: {}; the next start on this host removes them",
                    directory,
                    e.toString());
        }
    }

    WriterResources writers() {
        return writers;
    }

    ReaderResources readers() {
        return readers;
    }

    BlockServer server() {
        return server;
    }

    Evictor evictor() {
        return evictor;
    }

    ShuffleCounters counters() {
        return counters;
    }

    Arena arena() {
        return arena;
    }

    ExecutorWays ways() {
        return ways;
    }

    MapOutputStore store() {
        return store;
    }

    PeerRegistry peers() {
        return peers;
    }

    /** Forgets a shuffle: memory retires, files go, leases on it end. */
    void removeShuffle(int shuffleId) {
        removeOutputs(shuffleId);
        peers.forget(shuffleId);
        arena.reclaim();
    }

    private void removeOutputs(int shuffleId) {
        for (long mapId : store.remove(shuffleId)) {
            if (pins != null) {
                pins.remove(shuffleId, mapId);
            }
            files.remove(shuffleId, mapId);
        }
    }

    @Override
    public void close() {
        timer.shutdownNow();
        control.shutdownNow();
        memoryWork.shutdownNow();
        for (int shuffleId : store.shuffleIds()) {
            removeOutputs(shuffleId);
        }
        if (becomesIdle()) {
            peers.close();
            transport.close();
            if (pins != null) {
                pins.close();
            }
            arena.close();
            ways.close();
            backing.close();
        } else {
            // Spark ends an executor without waiting for its tasks. They hold addresses, so the memory goes with the
            // process. A lease of a neighbour, which has a mapping of its own, cannot be told from a task's here.
            LOG.warn(
                    "tasks or neighbours still use shuffle memory at shutdown: it stays mapped until the process ends; {}",
                    arena.statistics());
            removeTree(backing.ownerDirectory());
        }
        forgetExitHook();
    }

    private boolean becomesIdle() {
        long deadline = System.nanoTime() + CLOSE_WAIT_NS;
        while (isInUse() && System.nanoTime() < deadline) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            arena.reclaim();
        }
        return !isInUse();
    }

    private boolean isInUse() {
        ArenaStatistics now = arena.statistics();
        return now.leases() > 0 || now.quarantinedBytes() > 0 || peers.isInUse();
    }

    private void forgetExitHook() {
        if (removeFiles != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(removeFiles);
            } catch (IllegalStateException e) {
                LOG.debug("shutting down already: the hook finds nothing to remove");
            }
        }
    }
}
