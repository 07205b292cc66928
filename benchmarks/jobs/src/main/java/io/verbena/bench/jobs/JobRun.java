package io.verbena.bench.jobs;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Map;

/**
 * One run of one workload in one mode.
 *
 * @param checksum of the result
 * @param figures all of them, in seconds and bytes
 */
record JobRun(long checksum, Map<Figure, Double> figures) {
    void writeTo(DataOutputStream to) throws IOException {
        to.writeLong(checksum);
        for (Figure figure : Figure.values()) {
            to.writeDouble(figures.get(figure));
        }
    }

    /** Reads what {@link #writeTo} wrote. */
    static JobRun readFrom(DataInputStream from) throws IOException {
        long checksum = from.readLong();
        Map<Figure, Double> figures = new EnumMap<>(Figure.class);
        for (Figure figure : Figure.values()) {
            figures.put(figure, from.readDouble());
        }
        return new JobRun(checksum, figures);
    }
}
