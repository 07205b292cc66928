package io.verbena.memory;

import java.nio.file.Path;
import java.util.List;

/** Chooses where segments come from. */
@SuppressWarnings({"DoNotCallSuggester", "ObjectToString"})
public final class Backings {
    private Backings() {}

    /** Returns the best backing that works here and falls down the chain when it is exhausted. */
    public static SegmentBacking choose(BackingOptions options) {
        throw new UnsupportedOperationException(options.kind());
    }

    /** Removes what dead processes left below {@code root}; returns the directories removed. */
    public static List<Path> sweep(Path root) {
        throw new UnsupportedOperationException(root.toString());
    }
}
