package io.verbena.it;

import io.verbena.tpcds.StoredResults;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** TPC-DS data and Spark's own results, made outside the guest, where that takes seconds, and read inside. */
public final class TpcdsData {
    /** They shuffle, join and aggregate: two to five joins of sales with dimensions, a window. */
    static final List<String> QUERIES = List.of("q3", "q19", "q98");

    private static final double SCALE = 0.01;

    private TpcdsData() {}

    /** Returns where the files are, the same outside and inside, since both have this working directory. */
    static StoredResults stored() {
        return new StoredResults(Path.of("target", "guest", "tpcds"));
    }

    /** Makes the files; data that an earlier run has left is kept. */
    public static void prepare() throws IOException {
        try (Cluster control = Cluster.local(Cluster.SORT, Cluster.settings())) {
            stored().store(control.sql(), SCALE, QUERIES);
        }
    }
}
