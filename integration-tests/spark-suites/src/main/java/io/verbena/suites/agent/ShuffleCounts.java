package io.verbena.suites.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

/** How many shuffles of this driver were ours, and why others were Spark's. Any thread. */
public final class ShuffleCounts {
    /** Java properties: {@link #OURS} or a fallback reason, and how many shuffles. */
    public static final String FILE = "shuffles.properties";

    /** The key of the shuffles that our manager served. */
    public static final String OURS = "OURS";

    private static final String OUR_HANDLE = "RdmaShuffleHandle";
    private static final Map<String, Integer> COUNTS = new ConcurrentHashMap<>();

    private ShuffleCounts() {}

    /** Called with what registerShuffle returns. */
    public static void registered(Object handle) {
        if (handle.getClass().getSimpleName().equals(OUR_HANDLE)) {
            COUNTS.merge(OURS, 1, Integer::sum);
        }
    }

    /** Called for a shuffle that is left to Spark. */
    public static void fellBack(Object reason) {
        COUNTS.merge(reason.toString(), 1, Integer::sum);
    }

    static void storeAtExit(Path directory) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> store(directory.resolve(FILE)), "shuffle counts"));
    }

    private static void store(Path file) {
        Properties counts = new Properties();
        COUNTS.forEach((key, count) -> counts.setProperty(key, count.toString()));
        try (Writer writer = Files.newBufferedWriter(file)) {
            counts.store(writer, "registered shuffles");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
