package io.verbena.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Names of hosts for this JVM and those that it starts: Hadoop's daemons listen on what the name of the host means, which on many
 * machines is an address of the network. Here it means the loopback interface, whatever the machine's own settings are.
 */
final class LoopbackHosts {
    private static final String PROPERTY = "jdk.net.hosts.file";

    private LoopbackHosts() {}

    /** Writes the file that this JVM was told to read; comes before the first look-up of a name. */
    static void write() throws IOException {
        String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        Files.writeString(file(), "127.0.0.1 localhost " + host + "\n");
    }

    /** Tells another JVM to read it. */
    static String jvmOption() {
        return "-D" + PROPERTY + "=" + file();
    }

    private static Path file() {
        return Path.of(System.getProperty(PROPERTY));
    }
}
