package io.verbena.transport.verbs;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * How RDMA devices are used. Immutable.
 *
 * @param systemLibrary use the libdisni of {@code java.library.path} in place of the one in this jar
 * @param libraryDirectories where the native libraries may be unpacked if the temporary directory forbids execution
 * @param interfaces local addresses as numbers or names of devices to use; empty for all that are there
 * @param port first TCP-like port of the listeners, 0 for any
 * @param memoryBytes how much memory will be registered at most, in bytes; compared with the limits of process and device
 * @param queueDepth read work requests posted on one connection at a time, at least 1
 * @param maxReadBytes longest single read work request in bytes; longer ranges are split
 * @param maxBytesInFlight bytes posted on one connection at a time; one request is always admitted
 * @param leaseTimeout how long a peer may be silent before its connection is cut and its leases end
 * @param spinNanos how long the progress thread polls before it sleeps, in nanoseconds; software devices never spin
 * @param trafficClass type of service of the connections, 0 for the system's
 * @param ackTimeout exponent of the time a device waits for an acknowledgement, 4.096 us x 2^exponent; 0 for the system's
 */
public record VerbsOptions(
        boolean systemLibrary,
        List<Path> libraryDirectories,
        List<String> interfaces,
        int port,
        long memoryBytes,
        int queueDepth,
        int maxReadBytes,
        long maxBytesInFlight,
        Duration leaseTimeout,
        long spinNanos,
        int trafficClass,
        int ackTimeout) {
    /** 256 reads of 1 MiB keep a 200 Gbit/s link busy for 10 ms, longer than a scheduling hiccup. */
    public static final int DEFAULT_QUEUE_DEPTH = 256;

    /** At 1 MiB the cost of a work request is below 0.1 % of its transfer on a 100 Gbit/s link. */
    public static final int DEFAULT_MAX_READ_BYTES = 1 << 20;

    /** Sixty times what a 200 Gbit/s link holds in 10 us; and small enough that a keep-alive is not stuck behind it for long. */
    public static final long DEFAULT_MAX_BYTES_IN_FLIGHT = 16L << 20;

    /** Long enough for a stop of the whole JVM, short enough to get memory back the same minute. */
    public static final Duration DEFAULT_LEASE_TIMEOUT = Duration.ofSeconds(30);

    /** About the cost of two context switches. */
    public static final long DEFAULT_SPIN_NANOS = 20_000;

    /** Copies the lists. */
    public VerbsOptions {
        libraryDirectories = List.copyOf(libraryDirectories);
        interfaces = List.copyOf(interfaces);
        if (queueDepth < 1 || maxReadBytes < 1 || maxBytesInFlight < 1) {
            throw new IllegalArgumentException("must be positive: queueDepth=" + queueDepth + ", maxReadBytes="
                    + maxReadBytes + ", maxBytesInFlight=" + maxBytesInFlight);
        }
    }

    /** Returns what suits most, on all devices there are. */
    public static VerbsOptions defaults(long memoryBytes) {
        return new VerbsOptions(
                false,
                List.of(),
                List.of(),
                0,
                memoryBytes,
                DEFAULT_QUEUE_DEPTH,
                DEFAULT_MAX_READ_BYTES,
                DEFAULT_MAX_BYTES_IN_FLIGHT,
                DEFAULT_LEASE_TIMEOUT,
                DEFAULT_SPIN_NANOS,
                0,
                0);
    }

    /** Returns the same for other interfaces. */
    public VerbsOptions withInterfaces(List<String> chosen) {
        return new VerbsOptions(
                systemLibrary,
                libraryDirectories,
                chosen,
                port,
                memoryBytes,
                queueDepth,
                maxReadBytes,
                maxBytesInFlight,
                leaseTimeout,
                spinNanos,
                trafficClass,
                ackTimeout);
    }

    /** Returns the same with another lease time-out. */
    public VerbsOptions withLeaseTimeout(Duration timeout) {
        return new VerbsOptions(
                systemLibrary,
                libraryDirectories,
                interfaces,
                port,
                memoryBytes,
                queueDepth,
                maxReadBytes,
                maxBytesInFlight,
                timeout,
                spinNanos,
                trafficClass,
                ackTimeout);
    }
}
