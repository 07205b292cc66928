package io.verbena.shuffle.config;

import io.verbena.transport.verbs.VerbsOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/**
 * The checked configuration of the shuffle manager, and the only reader of {@code spark.shuffle.rdma.*}.
 *
 * <p>Built once per process. Every key and every rule between keys is checked at construction and all problems are reported
 * together; a bad value is never replaced by the default.
 *
 * <p>Threads: immutable.
 */
public final class RdmaConf {
    private enum Compression {
        AUTO,
        SPARK
    }

    private enum Library {
        BUNDLED,
        SYSTEM
    }

    private enum LeakTracking {
        CHEAP,
        EXACT
    }

    private static final List<ConfigKey<?>> DECLARED = new ArrayList<>();

    private static final ConfigKey<Boolean> ENABLED = declare(ConfigKey.bool("enabled")
            .defaultValue("true")
            .since("0.1.0")
            .doc("`false`: every shuffle is Spark's own sort shuffle."));

    private static final ConfigKey<Long> MEMORY_SIZE = declare(ConfigKey.bytes("memory.size", "16m", "1t")
            .defaultValue("1g")
            .since("0.1.0")
            .doc("Budget for map outputs per executor, outside the JVM heap: add it to `spark.executor.memoryOverhead`."
                    + " What does not fit goes to Spark shuffle files on disk."));

    /** At most 1 GiB, so that one segment can be one memory region and its offsets fit in an int. */
    private static final ConfigKey<Long> SEGMENT_SIZE = declare(
            ConfigKey.bytes("memory.segmentSize", "1m", "1g")
                    .also("a power of two", value -> Long.bitCount(value) == 1)
                    .also("at most memory.size")
                    .defaultValue("64m")
                    .since("0.1.0")
                    .doc(
                            "Bytes taken from the operating system at once. Larger segments mean fewer files and mappings, smaller ones"
                                    + " waste less of a tight budget. Unset, it is no more than a small `memory.size` allows."));

    private static final ConfigKey<Long> PREWARM = declare(ConfigKey.bytes("memory.prewarm", "0", "1t")
            .also("at most memory.size")
            .defaultValue("128m")
            .since("0.1.0")
            .doc(
                    "Bytes touched in the background when the executor starts, because a fresh page costs far more than a warm"
                            + " one. This memory is in use before any shuffle is. Unset, it is no more than a small `memory.size`"
                            + " allows."));

    private static final ConfigKey<Double> HIGH_WATER_MARK = declare(ConfigKey.decimal("memory.highWaterMark", 0.1, 1.0)
            .defaultValue("0.85")
            .since("0.1.0")
            .doc(
                    "Share of `memory.size` in use at which the coldest shuffle's outputs are written to disk. Lower leaves more"
                            + " room for bursts and writes more to disk."));

    private static final ConfigKey<MemoryBacking> BACKING = declare(
            ConfigKey.oneOf("memory.backing", MemoryBacking.class)
                    .defaultValue("auto")
                    .since("0.1.0")
                    .doc(
                            "Best kind of pages to try. `auto` and `hugetlbfs`: huge pages, then shared memory, then plain"
                                    + " pages; `shm` skips the first. Neighbours cannot map `plain` memory, so they fetch over Netty."));

    private static final ConfigKey<String> SHM_DIRECTORY = declare(
            ConfigKey.path("memory.shmDirectory")
                    .defaultValue("/dev/shm")
                    .since("0.1.0")
                    .doc(
                            "A tmpfs directory for `shm` segments, with room for the `memory.size` of every executor on the host."));

    private static final ConfigKey<String> HUGETLBFS_DIRECTORY =
            declare(ConfigKey.optionalPath("memory.hugetlbfsDirectory")
                    .defaultValue("")
                    .since("0.1.0")
                    .doc("A hugetlbfs mount for `hugetlbfs` segments. Empty: look in `/proc/mounts`."));

    private static final ConfigKey<Long> TRIM_IDLE = declare(ConfigKey.millis("memory.trimIdle", "1s", "1d")
            .defaultValue("60s")
            .since("0.1.0")
            .doc("How long an empty segment stays warm before its memory goes back to the operating system."));

    private static final ConfigKey<LeakTracking> LEAK_TRACKING = declare(ConfigKey.oneOf(
                    "memory.leakTracking", LeakTracking.class)
            .defaultValue("cheap")
            .since("0.1.0")
            .doc("`exact` records where each lease was taken, which costs time per lease: for tests and bug hunts."));

    private static final ConfigKey<Long> STAGING_SIZE = declare(ConfigKey.bytes("writer.stagingSize", "64k", "256m")
            .also("at most memory.segmentSize")
            .defaultValue("8m")
            .since("0.1.0")
            .doc("Bytes a map task collects before it lays them out by partition; costs this much per running map task."
                    + " Larger gives fewer, longer runs per partition. Unset, it is no more than a small"
                    + " `memory.segmentSize` allows."));

    private static final ConfigKey<Compression> COMPRESSION = declare(ConfigKey.oneOf("compression", Compression.class)
            .defaultValue("auto")
            .since("0.1.0")
            .doc("`auto` leaves blocks in memory uncompressed, which saves CPU and takes more memory; `spark` follows"
                    + " `spark.shuffle.compress`."));

    private static final ConfigKey<Boolean> MAPPED_ENABLED = declare(ConfigKey.bool("mapped.enabled")
            .defaultValue("true")
            .since("0.1.0")
            .doc("Read the outputs of executors on the same host by mapping their segments. Unset, it is false on YARN,"
                    + " whose NodeManagers may count neighbours' mapped memory against an executor's container."));

    private static final ConfigKey<Boolean> VERBS_ENABLED = declare(ConfigKey.bool("verbs.enabled")
            .defaultValue("true")
            .since("0.1.0")
            .doc("Read the outputs of executors on other hosts by RDMA, where both have a device. Without one the"
                    + " executor says so once and everything works over Netty."));

    private static final ConfigKey<List<String>> VERBS_INTERFACES = declare(ConfigKey.names("verbs.interfaces")
            .defaultValue("")
            .since("0.1.0")
            .doc(
                    "RDMA devices (`mlx5_0`), network interfaces (`eth2`) or numeric addresses to use. Empty: all that have"
                            + " an address; peers prefer a common subnet."));

    private static final ConfigKey<Integer> VERBS_PORT = declare(ConfigKey.integer("verbs.port", 0, 65535)
            .defaultValue("0")
            .since("0.1.0")
            .doc("First port of the RDMA listeners, for networks that filter; the next 15 are tried too. 0: any."));

    private static final ConfigKey<Integer> VERBS_QUEUE_DEPTH = declare(ConfigKey.integer("verbs.queueDepth", 1, 8192)
            .defaultValue("256")
            .since("0.1.0")
            .doc("Reads posted on one connection at a time; each costs about 250 bytes per connection."));

    private static final ConfigKey<Long> VERBS_MAX_READ_SIZE = declare(ConfigKey.bytes("verbs.maxReadSize", "4k", "1g")
            .defaultValue("1m")
            .since("0.1.0")
            .doc("Longest single RDMA Read; longer ranges are split. Shorter shares a link more fairly."));

    private static final ConfigKey<Long> VERBS_MAX_BYTES_IN_FLIGHT =
            declare(ConfigKey.bytes("verbs.maxBytesInFlight", "64k", "1g")
                    .defaultValue("16m")
                    .since("0.1.0")
                    .doc("Bytes posted on one connection at a time, over all tasks; one read is always admitted. A"
                            + " keep-alive waits behind them, so they must take far less than `verbs.lease.timeout`."));

    private static final ConfigKey<Long> VERBS_LEASE_TIMEOUT = declare(ConfigKey.millis(
                    "verbs.lease.timeout", "1s", "1h")
            .defaultValue("30s")
            .since("0.1.0")
            .doc("How long a reader may be silent before its connection is cut and its leases end. Longer"
                    + " survives longer stops of the JVM, shorter gets the memory of lost readers back sooner."));

    private static final ConfigKey<Integer> VERBS_TRAFFIC_CLASS =
            declare(ConfigKey.integer("verbs.trafficClass", 0, 255)
                    .defaultValue("0")
                    .since("0.1.0")
                    .doc("Type of service of RDMA connections, for RoCE networks with priorities. 0: the system's."));

    private static final ConfigKey<Integer> VERBS_ACK_TIMEOUT = declare(ConfigKey.integer("verbs.ackTimeout", 0, 31)
            .defaultValue("0")
            .since("0.1.0")
            .doc("A device waits 4.096 us times 2 to this power for an acknowledgement, then sends again. 0: the"
                    + " connection manager's choice."));

    private static final ConfigKey<Library> VERBS_LIBRARY = declare(ConfigKey.oneOf("verbs.library", Library.class)
            .defaultValue("bundled")
            .since("0.1.0")
            .doc("`system` takes DiSNI's native library from `java.library.path`; `bundled` the one in this jar."));

    private static final ConfigKey<Long> VERBS_FILE_CACHE = declare(
            ConfigKey.bytes("verbs.fileCache", "0", "1t")
                    .defaultValue("256m")
                    .since("0.1.0")
                    .doc(
                            "Bytes of map outputs on disk that may be registered at a time, so that other hosts read them by RDMA from"
                                    + " the page cache; counts as locked memory beside `memory.size`. 0: such files go over Netty."));

    private static final ConfigKey<Long> VERBS_RETRY_INTERVAL =
            declare(ConfigKey.millis("verbs.retry.interval", "1s", "1d")
                    .defaultValue("30s")
                    .since("0.1.0")
                    .doc(
                            "How long a peer whose memory cannot be reached, or whose connection failed three times within this time, is"
                                    + " read over Netty before it is tried again."));

    private static final ConfigKey<Long> FETCH_TIMEOUT = declare(ConfigKey.millis("fetch.timeout", "1s", "1h")
            .defaultValue("10min")
            .since("0.1.0")
            .doc(
                    "How long a reader waits for peers in all before the fetch fails and Spark runs the stage again. A last resort:"
                            + " lost connections are noticed and retried by Spark's transfer long before"
                            + " (spark.shuffle.io.maxRetries, spark.network.timeout)."));

    private static final ConfigKey<Long> MAX_BYTES_IN_FLIGHT = declare(
            ConfigKey.bytes("fetch.maxBytesInFlight", "1m", "1g")
                    .defaultValue("48m")
                    .since("0.1.0")
                    .doc(
                            "Most bytes a reduce task has requested and not yet received; one block is always admitted. Of what is read by"
                                    + " RDMA, most bytes it holds; a map output of which a task wants more comes over Netty."));

    private static final ConfigKey<Boolean> SORT_ENABLED = declare(ConfigKey.bool("sort.enabled")
            .defaultValue("true")
            .since("0.1.0")
            .doc(
                    "Sort records on the reduce side (`sortByKey`, `repartitionAndSortWithinPartitions`) by a prefix of their"
                            + " keys, with spills. `false`: with Spark's sorter, which takes more CPU."));

    private static final ConfigKey<Boolean> PAIRS_ENABLED = declare(ConfigKey.bool("pairs.enabled")
            .defaultValue("true")
            .since("0.1.0")
            .doc(
                    "With Spark's Kryo serializer, write keys and values that are numbers, booleans, texts or arrays of bytes as they"
                            + " are; all else is Kryo's. `false`: all is Kryo's, which takes more CPU. Left alone when a registrator"
                            + " gives one of these types a serializer of its own."));

    private static final ConfigKey<Long> LEASE_IDLE = declare(ConfigKey.millis("lease.idle", "100ms", "1h")
            .defaultValue("2s")
            .since("0.1.0")
            .doc(
                    "How long a reader keeps its lease on a peer's shuffle after its last task. Longer saves round trips between"
                            + " stages, but the peer gets memory back later."));

    private final Map<ConfigKey<?>, Object> values;

    private RdmaConf(Map<ConfigKey<?>, Object> values) {
        this.values = Map.copyOf(values);
    }

    /**
     * Reads and checks every key.
     *
     * @param sparkConf read now and not kept
     * @throws IllegalArgumentException listing every problem, one per line: an unknown key below the prefix with the closest
     *     known one, and each bad value or broken rule with the key, the value and the allowed range
     */
    public static RdmaConf from(SparkConf sparkConf) {
        Map<String, String> texts = new HashMap<>();
        for (Tuple2<String, String> entry : sparkConf.getAll()) {
            if (entry._1().startsWith(ConfigKey.PREFIX)) {
                texts.put(entry._1(), entry._2());
            }
        }
        List<String> problems = UnknownKeys.describe(texts, DECLARED);
        Map<ConfigKey<?>, Object> values = new HashMap<>();
        for (ConfigKey<?> key : DECLARED) {
            String text = texts.get(key.name());
            try {
                values.put(key, text == null ? key.defaultValue() : key.parse(text));
            } catch (IllegalArgumentException e) {
                problems.add(e.getMessage());
            }
        }
        bound(SEGMENT_SIZE, MEMORY_SIZE, texts, values, problems);
        bound(PREWARM, MEMORY_SIZE, texts, values, problems);
        bound(STAGING_SIZE, SEGMENT_SIZE, texts, values, problems);
        if (!texts.containsKey(MAPPED_ENABLED.name())
                && sparkConf.get("spark.master", "").startsWith("yarn")) {
            values.put(MAPPED_ENABLED, false);
        }
        if (!problems.isEmpty()) {
            throw new IllegalArgumentException("cannot start the RDMA shuffle manager: problems=" + problems.size()
                    + "; correct these settings:\n  " + String.join("\n  ", problems));
        }
        return new RdmaConf(values);
    }

    /** Holds one size to another: a set value that is larger is a problem, the default follows. */
    private static void bound(
            ConfigKey<Long> key,
            ConfigKey<Long> limitKey,
            Map<String, String> texts,
            Map<ConfigKey<?>, Object> values,
            List<String> problems) {
        Long value = (Long) values.get(key);
        Long limit = (Long) values.get(limitKey);
        if (value == null || limit == null || value <= limit) {
            return; // A missing value is a problem already reported.
        }
        String text = texts.get(key.name());
        if (text == null) {
            // A power of two satisfies every key that is bounded here.
            values.put(key, Long.highestOneBit(limit));
        } else {
            problems.add(key.name() + "=" + text + " is more than " + limitKey.name() + "="
                    + texts.getOrDefault(limitKey.name(), limit + "b") + ", allowed: " + key.range());
        }
    }

    private static <T> ConfigKey<T> declare(ConfigKey<T> key) {
        DECLARED.add(key);
        return key;
    }

    /** Returns every key, in the order of the documentation. */
    static List<ConfigKey<?>> keys() {
        return Collections.unmodifiableList(DECLARED);
    }

    @SuppressWarnings("unchecked") // The map holds for each key what that key parsed.
    private <T> T get(ConfigKey<T> key) {
        return (T) values.get(key);
    }

    /** Whether shuffles use this manager at all; if not, they are Spark's own. */
    public boolean enabled() {
        return get(ENABLED);
    }

    /** Returns the budget for map outputs of this executor, in bytes. */
    public long memorySize() {
        return get(MEMORY_SIZE);
    }

    /** Returns the length of one segment, in bytes: a power of two, at most 1 GiB and at most {@link #memorySize}. */
    public long segmentSize() {
        return get(SEGMENT_SIZE);
    }

    /** Returns how much memory is touched at start, in bytes, at most {@link #memorySize}. */
    public long prewarm() {
        return get(PREWARM);
    }

    /** Returns the share of {@link #memorySize} at which eviction starts, 0.1 to 1. */
    public double highWaterMark() {
        return get(HIGH_WATER_MARK);
    }

    /** Returns the wanted kind of pages. */
    public MemoryBacking backing() {
        return get(BACKING);
    }

    /** Returns the absolute path of the directory for shared-memory segments. */
    public String shmDirectory() {
        return get(SHM_DIRECTORY);
    }

    /** Returns the absolute path of the hugetlbfs mount, or null to look in {@code /proc/mounts}. */
    public String hugetlbfsDirectory() {
        String directory = get(HUGETLBFS_DIRECTORY);
        return directory.isEmpty() ? null : directory;
    }

    /** Returns how long an empty segment is kept, in milliseconds. */
    public long trimIdleMs() {
        return get(TRIM_IDLE);
    }

    /** Whether every lease records where it was taken. */
    public boolean exactLeakTracking() {
        return get(LEAK_TRACKING) == LeakTracking.EXACT;
    }

    /** Returns the staging memory of one map task, in bytes, at most {@link #segmentSize}. */
    public long stagingSize() {
        return get(STAGING_SIZE);
    }

    /** Whether {@code spark.shuffle.compress} decides; if not, blocks in memory are uncompressed. */
    public boolean followSparkCompression() {
        return get(COMPRESSION) == Compression.SPARK;
    }

    /** Whether outputs of executors on this host are read by mapping them. */
    public boolean mappedEnabled() {
        return get(MAPPED_ENABLED);
    }

    /** Whether RDMA devices are used. */
    public boolean verbsEnabled() {
        return get(VERBS_ENABLED);
    }

    /**
     * Returns how RDMA devices are used.
     *
     * @param libraryDirectories where native libraries may be unpacked if the temporary directory forbids execution
     */
    public VerbsOptions verbsOptions(List<Path> libraryDirectories) {
        return new VerbsOptions(
                get(VERBS_LIBRARY) == Library.SYSTEM,
                libraryDirectories,
                get(VERBS_INTERFACES),
                get(VERBS_PORT),
                memorySize() + verbsFileCache(),
                get(VERBS_QUEUE_DEPTH),
                Math.toIntExact(get(VERBS_MAX_READ_SIZE)),
                get(VERBS_MAX_BYTES_IN_FLIGHT),
                Duration.ofMillis(get(VERBS_LEASE_TIMEOUT)),
                VerbsOptions.DEFAULT_SPIN_NANOS,
                get(VERBS_TRAFFIC_CLASS),
                get(VERBS_ACK_TIMEOUT));
    }

    /** Returns how many bytes of map outputs on disk may be registered with RDMA devices at a time, 0 for none. */
    public long verbsFileCache() {
        return get(VERBS_FILE_CACHE);
    }

    /** Returns how long a peer that cannot be reached directly is read over Spark's block transfer, in milliseconds. */
    public long verbsRetryIntervalMs() {
        return get(VERBS_RETRY_INTERVAL);
    }

    /** Returns how long a reader waits for a peer, in milliseconds. */
    public long fetchTimeoutMs() {
        return get(FETCH_TIMEOUT);
    }

    /** Returns the most bytes that one reduce task has requested and not yet received. */
    public long maxBytesInFlight() {
        return get(MAX_BYTES_IN_FLIGHT);
    }

    /** Whether records are put in order by our sorter; if not, by Spark's. */
    public boolean sortEnabled() {
        return get(SORT_ENABLED);
    }

    /** Whether keys and values of basic types are written as they are rather than by Kryo. */
    public boolean pairsEnabled() {
        return get(PAIRS_ENABLED);
    }

    /** Returns how long a lease on a peer's shuffle outlives its last task, in milliseconds. */
    public long leaseIdleMs() {
        return get(LEASE_IDLE);
    }
}
