package io.verbena.shuffle.reader;

import io.verbena.shuffle.metadata.MapOutputDirectory;
import io.verbena.shuffle.metadata.RunIndex;
import java.util.List;

/**
 * Blocks of one map output that a reduce task reads from a peer's memory by copying. Immutable.
 *
 * @param ref which blocks
 * @param shuffle where the indexes are known and how to read
 * @param entry where the runs are
 * @param indexes the runs' indexes, {@code null} until they are known
 * @param retried whether the peer refused a range before and has been asked for its tables again
 */
record WantedOutput(
        MapRef ref, PeerShuffle shuffle, MapOutputDirectory.Entry entry, List<RunIndex> indexes, boolean retried) {

    WantedOutput with(List<RunIndex> found) {
        return new WantedOutput(ref, shuffle, entry, found, retried);
    }

    /** The same where the peer has made its file readable. */
    WantedOutput in(PinnedOutputs.Pinned file) {
        return new WantedOutput(ref, shuffle, file.entry(), List.of(file.index()), retried);
    }

    /** The same with what the peer said after a refusal. */
    WantedOutput again(MapOutputDirectory.Entry newEntry) {
        return new WantedOutput(ref, shuffle, newEntry, null, true);
    }

    /** Bytes of the blocks; the indexes are known. */
    long bytes() {
        long bytes = 0;
        for (RunIndex index : indexes) {
            bytes += index.rangeLength(ref.startReduceId(), ref.endReduceId());
        }
        return bytes;
    }
}
