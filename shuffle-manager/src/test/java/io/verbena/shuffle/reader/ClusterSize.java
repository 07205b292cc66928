package io.verbena.shuffle.reader;

/**
 * How large a simulated shuffle is.
 *
 * @param executors that hold map outputs and run reduce tasks, in equal shares
 * @param maps map outputs, a multiple of the executors
 * @param partitions reduce partitions, a multiple of the executors
 */
record ClusterSize(int executors, int maps, int partitions) {
    int mapsPerExecutor() {
        return maps / executors;
    }

    int tasksPerExecutor() {
        return partitions / executors;
    }

    /** Map outputs times reduce partitions. */
    long blocks() {
        return (long) maps * partitions;
    }

    /** Map ids of different shuffles differ, as task attempt ids do. */
    long mapId(int shuffleId, int mapIndex) {
        return (long) shuffleId * maps + mapIndex;
    }

    int mapIndex(long mapId) {
        return (int) (mapId % maps);
    }

    int executorOf(int mapIndex) {
        return mapIndex / mapsPerExecutor();
    }

    @Override
    public String toString() {
        return maps + " maps x " + partitions + " partitions on " + executors + " executors";
    }
}
