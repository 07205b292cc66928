package io.verbena.shuffle.reader;

import java.util.Locale;

/**
 * What a shuffle of one size was measured to cost one executor.
 *
 * @param indexBytes of its own map outputs, in registered memory
 * @param directoryBytes of its own map outputs, as it tells them
 * @param statusBytes in which the driver sends the map statuses, Spark's
 * @param firstMessages requests to peers for the first shuffle that is read from them
 * @param nextMessages requests to peers for any later one
 * @param connections to peers
 * @param peerHeapBytes about peers, after all tasks
 * @param indexReads one-sided reads of indexes, per task
 * @param indexReadBytes that they brought, per task
 * @param plan of one task
 * @param firstTask the one that meets the peers, without its plan
 * @param laterTask mean of the others, without their plans
 */
record ScaleFigures(
        ClusterSize size,
        long indexBytes,
        long directoryBytes,
        long statusBytes,
        int firstMessages,
        int nextMessages,
        int connections,
        long peerHeapBytes,
        double indexReads,
        double indexReadBytes,
        Cost plan,
        Cost firstTask,
        Cost laterTask) {

    double bytesPerBlock() {
        return (indexBytes + directoryBytes) / ((double) size.mapsPerExecutor() * size.partitions());
    }

    /** CPU time from the plan to the last record of a later task, in nanoseconds. */
    double nsPerBlock() {
        return (plan.cpuNs() + laterTask.cpuNs()) / (double) size.maps();
    }

    void print() {
        line("%s, %,d blocks; of one executor:", size, size.blocks());
        line("  index and directory            %.3f bytes per block", bytesPerBlock());
        line("  registered for indexes         %,d bytes", indexBytes);
        line("  directory                      %,d bytes", directoryBytes);
        line("  map statuses (Spark's)         %,d bytes, 1 message", statusBytes);
        line("  messages to peers              %d, for the next shuffle %d", firstMessages, nextMessages);
        line("  connections to peers           %d", connections);
        line("  heap about peers               %,d bytes", peerHeapBytes);
        line("  index reads per task           %.0f, %,.0f bytes", indexReads, indexReadBytes);
        line("  look-ups per task              %,d", size.maps());
        cost("plan of a task", plan);
        cost("look-ups and reads, first task", firstTask);
        cost("look-ups and reads, later task", laterTask);
    }

    private void cost(String what, Cost cost) {
        line(
                "  %-30s %.1f ms; per block %.0f ns, %.0f bytes of garbage",
                what,
                cost.cpuNs() / 1e6,
                (double) cost.cpuNs() / size.maps(),
                (double) cost.garbageBytes() / size.maps());
    }

    static void line(String format, Object... values) {
        System.out.println("[scale] " + String.format(Locale.ROOT, format, values));
    }
}
