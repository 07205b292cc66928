package io.verbena.bench.jobs;

import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.classic.SparkSession;

/** A job, at the size that scale 1 means. Jobs are small enough for a laptop; their blocks have the sizes of large ones. */
// Nothing changes its sets and maps.
@SuppressWarnings("ImmutableEnumChecker")
public enum Workload {
    /** 400 MB of wide rows in blocks of 400 KB. */
    WIDE_ROWS_64("wideRows64", (session, scale) -> Rows.repartitionWide(session, scale, 64), EnumSet.allOf(Mode.class)),
    /** The same rows in blocks of 60 KB. */
    WIDE_ROWS_400(
            "wideRows400",
            (session, scale) -> Rows.repartitionWide(session, scale, 400),
            EnumSet.of(Mode.SPARK, Mode.VERBENA, Mode.VERBENA_LZ4, Mode.NULL)),
    /** 50 MB of rows in 100,000 blocks. */
    SMALL_BLOCKS_SQL(
            "smallBlocksSql",
            (session, scale) -> Rows.repartitionSmall(session, (long) (500_000 * scale), 100, 1000),
            EnumSet.of(Mode.SPARK, Mode.SPARK_NETTY, Mode.VERBENA, Mode.NULL)),
    /** 200 MB of rows in 400,000 blocks. */
    SMALL_BLOCKS_SQL_2000(
            "smallBlocksSql2000",
            (session, scale) -> Rows.repartitionSmall(session, (long) (2_000_000 * scale), 200, 2000),
            Sets.USUAL),
    /** 50 MB of records in 100,000 blocks. */
    SMALL_BLOCKS_KRYO(
            "smallBlocksKryo",
            (session, scale) -> Records.repartition(session, (long) (500_000 * scale), 100, 1000),
            Sets.USUAL),
    /** 300 MB of records of 100 bytes. */
    RECORDS_REPARTITION(
            "recordsRepartition",
            (session, scale) -> Records.repartition(session, (long) (3_000_000 * scale), 16, 16),
            EnumSet.of(Mode.SPARK, Mode.SPARK_NETTY, Mode.VERBENA, Mode.NULL)),
    /** 200 MB of rows of 24 bytes. */
    NARROW_ROWS("narrowRows", Rows::repartitionNarrow, Sets.USUAL),
    /** 200 MB of records of 100 bytes, sorted. */
    RECORDS_SORT_BY_KEY("recordsSortByKey", Records::sortByKey, Sets.USUAL),
    /** Three million numbers, counted. */
    REDUCE_BY_KEY("reduceByKey", Records::reduceByKey, Sets.USUAL),
    /** 1.5 million objects, grouped. */
    GROUP_BY_KEY("groupByKey", Records::groupByKey, Sets.USUAL),
    /** Two tables joined and aggregated. */
    SQL_JOIN("sqlJoin", Rows::join, Sets.USUAL),
    /** 256 MB of wide rows where both executors together have memory for half of them. */
    OVERFLOW(
            "overflow",
            (session, scale) -> Rows.repartitionWide(session, 0.64 * scale, 64),
            Sets.USUAL,
            Map.of("spark.shuffle.rdma.memory.size", "64m"),
            false),
    /** {@link #WIDE_ROWS_64} as the first job of an application: classes, compilers and memory are cold. */
    COLD_FIRST_SHUFFLE(
            "coldFirstShuffle",
            (session, scale) -> Rows.repartitionWide(session, scale, 64),
            Sets.USUAL,
            Map.of(),
            true);

    /** What a workload does. */
    @FunctionalInterface
    interface Job {
        /**
         * Runs on the driver.
         *
         * @return a checksum of the result, the same in all modes but {@link Mode#NULL}
         */
        long run(SparkSession session, double scale);
    }

    private static final class Sets {
        private static final Set<Mode> USUAL = EnumSet.of(Mode.SPARK, Mode.VERBENA, Mode.NULL);
    }

    private final String label;
    private final Job job;
    private final Set<Mode> modes;
    private final Map<String, String> verbenaSettings;
    private final boolean fresh;

    Workload(String label, Job job, Set<Mode> modes) {
        this(label, job, modes, Map.of(), false);
    }

    Workload(String label, Job job, Set<Mode> modes, Map<String, String> verbenaSettings, boolean fresh) {
        this.label = label;
        this.job = job;
        this.modes = modes;
        this.verbenaSettings = verbenaSettings;
        this.fresh = fresh;
    }

    /** Its name on the command line and in results. */
    String label() {
        return label;
    }

    Job job() {
        return job;
    }

    /** In which modes it runs unless told otherwise. */
    Set<Mode> modes() {
        return modes;
    }

    /** Settings it needs in Verbena's modes besides the defaults. */
    Map<String, String> verbenaSettings() {
        return verbenaSettings;
    }

    /** Whether every run has an application of its own. */
    boolean isFresh() {
        return fresh;
    }

    /** Whether it runs unless told otherwise; the others take too long. */
    boolean isDefault() {
        return this != SMALL_BLOCKS_SQL_2000;
    }

    /** Whether the price of a block is what it is about: rows cost little next to it. */
    boolean hasSmallBlocks() {
        return this == SMALL_BLOCKS_SQL || this == SMALL_BLOCKS_SQL_2000;
    }

    @Override
    public String toString() {
        return label;
    }
}
