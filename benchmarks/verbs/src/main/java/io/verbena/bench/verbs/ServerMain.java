package io.verbena.bench.verbs;

import io.verbena.arena.RegisteredBuffer;
import io.verbena.guest.GuestHost;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** Host B of our side: prints the descriptor, the address and the rkey of its memory, and serves until its standard input ends. */
public final class ServerMain {
    private ServerMain() {}

    /** @param arguments none */
    public static void main(String[] arguments) throws Exception {
        PrintWriter out = new PrintWriter(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        try (VerbsEndpoint endpoint = new VerbsEndpoint(GuestHost.B)) {
            RegisteredBuffer served = endpoint.acquire(TransportReader.SERVED_BYTES);
            out.println(
                    "serving " + HexFormat.of().formatHex(endpoint.transport().descriptor()) + " " + served.address()
                            + " " + served.region().rkey());
            awaitEnd();
            served.release();
        }
    }

    private static void awaitEnd() throws IOException {
        while (System.in.read() >= 0) {
            // Only the end means something.
        }
    }
}
