package io.verbena.it.verbs;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.ReadLease;
import io.verbena.transport.ReadRequest;
import io.verbena.transport.ReadRequest.Range;
import io.verbena.transport.RecordingListener;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TransportException;
import io.verbena.transport.verbs.VerbsOptions;
import io.verbena.verbs.VerbsUnavailableException;
import java.io.IOException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The other process of the guest's tests. It ends when its standard input does, or when it is killed. */
final class VerbsProcess {
    static final int BYTES = 1 << 20;
    static final int KEY = 7;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private VerbsProcess() {}

    /** Runs one role: {@code own ADDRESS}, {@code read ADDRESS DESCRIPTOR} or {@code limits ADDRESS MEMORY_BYTES}. */
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "own" -> own(args[1]);
            case "read" -> read(args[1], HexFormat.of().parseHex(args[2]));
            case "limits" -> limits(args[1], Long.parseLong(args[2]));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    /** Serves a segment of seed 1. */
    private static void own(String address) throws Exception {
        VerbsSide side = VerbsSide.open(VerbsSide.on(address));
        RegisteredBuffer served = side.endpoint().acquireFilled(BYTES, 1);
        say("DESCRIPTOR " + HexFormat.of().formatHex(side.transport().descriptor()) + " " + served.address());
        awaitEnd();
    }

    /** Reads the owner's first segment under a lease, over and over, until a read fails. */
    private static void read(String address, byte[] descriptor) throws Exception {
        VerbsSide side = VerbsSide.open(VerbsSide.on(address));
        RegisteredBuffer destination = side.endpoint().acquire(BYTES);
        RemoteMemory remote = side.transport().connect(descriptor, TIMEOUT);
        ReadLease lease = remote.acquireLease(KEY, TIMEOUT);
        SegmentEntry segment = EndpointDescriptor.decode(descriptor).segments().get(0);
        Range range = new Range(segment.address(), segment.rkey(), BYTES, 0);
        say("HELD " + lease.key());
        TransportException failure = null;
        while (failure == null) {
            RecordingListener listener = new RecordingListener();
            long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
            remote.read(new ReadRequest(destination, List.of(range), deadlineNs, listener));
            failure = listener.await();
        }
        say("FAILED " + failure.reason() + " " + failure.getMessage());
        awaitEnd();
    }

    /** Says why the devices cannot be opened, or what becomes of memory that cannot be registered. */
    private static void limits(String address, long memoryBytes) throws Exception {
        try {
            VerbsOptions options = VerbsOptions.defaults(memoryBytes).withInterfaces(List.of(address));
            VerbsSide side = VerbsSide.open(options);
            List<RegisteredBuffer> held = new java.util.ArrayList<>();
            for (int i = 0; i < 8; i++) {
                held.add(side.endpoint().acquireFilled(BYTES, i));
            }
            EndpointDescriptor descriptor = side.descriptor();
            long refused = descriptor.devices().get(0).rkeys().stream()
                    .filter(rkey -> rkey == 0)
                    .count();
            say("SEGMENTS " + held.size() + " refused=" + refused + " counted="
                    + side.statistics().registrationFailures());
        } catch (VerbsUnavailableException e) {
            say("UNAVAILABLE " + e.getMessage());
        }
        awaitEnd();
    }

    private static void awaitEnd() throws IOException {
        System.exit(System.in.read() == -1 ? 0 : 1);
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
