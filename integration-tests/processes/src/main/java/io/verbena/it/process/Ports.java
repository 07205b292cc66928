package io.verbena.it.process;

import java.io.IOException;
import java.net.ServerSocket;

/** Ports for servers that cannot choose one themselves. */
public final class Ports {
    private Ports() {}

    /** A port that was free a moment ago. */
    public static int free() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
