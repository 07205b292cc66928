package io.verbena.shuffle.reader;

import org.apache.spark.storage.BlockManagerId;

/**
 * The blocks of one map output that a reduce task wants.
 *
 * @param location the executor that holds them, as the map output tracker says
 * @param mapId task attempt id of the map task
 * @param mapIndex its position in the stage
 * @param startReduceId first partition
 * @param endReduceId one past the last
 * @param estimatedBytes sum of the sizes in the map status; an average above 2,000 partitions, so never a true length
 */
record MapRef(
        BlockManagerId location, long mapId, int mapIndex, int startReduceId, int endReduceId, long estimatedBytes) {}
