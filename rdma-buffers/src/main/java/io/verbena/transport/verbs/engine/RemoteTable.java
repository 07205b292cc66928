package io.verbena.transport.verbs.engine;

import io.verbena.transport.EndpointDescriptor;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import io.verbena.transport.ReadRequest.Range;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** A peer's segments as seen through one of its devices: key, bounds, and the device's key. Immutable; look-ups make no garbage. */
final class RemoteTable {
    private final int[] keys;
    private final SegmentEntry[] segments;
    private final int[] deviceKeys;

    /** Keeps the segments that are registered with the device. */
    RemoteTable(EndpointDescriptor descriptor, int device) {
        List<SegmentEntry> all = descriptor.segments();
        List<Integer> rkeys = descriptor.devices().get(device).rkeys();
        int[] order = IntStream.range(0, all.size())
                .filter(i -> rkeys.get(i) != 0)
                .boxed()
                .sorted(Comparator.comparingInt(i -> all.get(i).rkey()))
                .mapToInt(i -> i)
                .toArray();
        keys = new int[order.length];
        segments = new SegmentEntry[order.length];
        deviceKeys = new int[order.length];
        for (int i = 0; i < order.length; i++) {
            segments[i] = all.get(order[i]);
            keys[i] = segments[i].rkey();
            deviceKeys[i] = rkeys.get(order[i]);
        }
    }

    boolean knows(int key) {
        return Arrays.binarySearch(keys, key) >= 0;
    }

    /** Returns whether the range lies in a segment that is known here. */
    boolean covers(Range range) {
        int found = Arrays.binarySearch(keys, range.rkey());
        return found >= 0 && segments[found].offsetOf(range.remoteAddress(), range.length()) >= 0;
    }

    /** Returns the segment of a known key, else null. */
    SegmentEntry segment(int key) {
        int found = Arrays.binarySearch(keys, key);
        return found < 0 ? null : segments[found];
    }

    /** Returns the device's key of a known segment. */
    int deviceKey(int key) {
        return deviceKeys[Arrays.binarySearch(keys, key)];
    }
}
