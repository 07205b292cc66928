package io.verbena.transport.mapped;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.testing.Tmpfs;
import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.ReadLease;
import io.verbena.transport.RemoteMemory;
import io.verbena.transport.TestEndpoint;
import io.verbena.transport.TransportException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;

/** The other process of {@link NeighbourTest}. It ends when its standard input does, or when it is killed. */
final class NeighbourProcess {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private NeighbourProcess() {}

    /** Runs one role. */
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "own" -> own(Path.of(args[1]));
            case "hold" -> hold(Path.of(args[1]), args[2]);
            case "contend" -> contend(Path.of(args[1]), args[2]);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    /** Serves 100,000 bytes of seed 1. */
    private static void own(Path shm) throws IOException {
        TestEndpoint endpoint = open(shm);
        RegisteredBuffer served = endpoint.acquireFilled(100_000, 1);
        say("DIRECTORY " + endpoint.backing().ownerDirectory());
        say("ADDRESS " + served.address());
        say("DESCRIPTOR " + HexFormat.of().formatHex(endpoint.transport().descriptor()));
        awaitEnd();
    }

    /** Leases key 7, looks at the first segment and keeps the lease. */
    private static void hold(Path shm, String descriptor) throws IOException {
        RemoteMemory remote = connect(shm, descriptor);
        ReadLease lease = remote.acquireLease(7, TIMEOUT);
        EndpointDescriptor.SegmentEntry first =
                EndpointDescriptor.decode(bytes(descriptor)).segments().get(0);
        ByteBuffer view = remote.viewBuffer(first.address(), first.rkey(), 100_000);
        CRC32C crc = new CRC32C();
        crc.update(view);
        say("HELD key=" + lease.key() + " crc=" + crc.getValue());
        awaitEnd();
    }

    /** Leases and gives back key 7 while the owner asks for it all the time. */
    private static void contend(Path shm, String descriptor) throws IOException {
        RemoteMemory remote = connect(shm, descriptor);
        say("READY now");
        int done = 0;
        for (; done < 300; done++) {
            try (ReadLease lease = remote.acquireLease(7, TIMEOUT)) {
                if (lease.key() != 7) {
                    throw new IllegalStateException("key=" + lease.key());
                }
            }
        }
        say("DONE " + done);
        awaitEnd();
    }

    private static TestEndpoint open(Path shm) {
        return new TestEndpoint(
                shm, "shm", (regions, backing) -> new MappedTransport(regions, backing.ownerDirectory()));
    }

    private static RemoteMemory connect(Path shm, String descriptor) throws TransportException {
        return open(shm).transport().connect(bytes(descriptor), TIMEOUT);
    }

    private static byte[] bytes(String descriptor) {
        return HexFormat.of().parseHex(descriptor);
    }

    /** {@link Tmpfs} directories and the parent's checks outlive this process, so it just stays. */
    private static void awaitEnd() throws IOException {
        System.exit(System.in.read() == -1 ? 0 : 1);
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    static List<String> arguments(String role, Path shm, byte[] descriptor) {
        return List.of(role, shm.toString(), HexFormat.of().formatHex(descriptor));
    }
}
