package io.verbena.tpcds;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.classic.SparkSession;

/**
 * TPC-DS data and what Spark's own shuffle returns on it, as files: for a comparison with a session that cannot have a control beside
 * it. {@link #store} is called with one session, {@link #compare} later and elsewhere with another.
 *
 * <p>Ownership: the directory is this data set's alone; nothing in it is deleted. Threads: confined to one. Errors: an
 * {@link IOException} names the file that cannot be read or written; a query that fails throws what Spark throws.
 */
public final class StoredResults {
    private static final String KEY_COUNT = "keyCount";
    private static final String LIMIT = "limit";

    private final Path directory;

    /** @param directory created by {@link #store}; both sides see the same files */
    public StoredResults(Path directory) {
        this.directory = directory.toAbsolutePath();
    }

    /**
     * Writes the tables that some queries name, unless they are there already, and the queries' results.
     *
     * @param control a session with Spark's sort shuffle; its settings may change
     * @param scale of the data, 1 being about 1 GB
     * @param queries names such as {@code q3}
     */
    public void store(org.apache.spark.sql.SparkSession control, double scale, List<String> queries)
            throws IOException {
        SparkSession session = (SparkSession) control;
        new DataGenerator(session, scale, data(), tables(queries)).generate(table -> {});
        register(session, queries);
        for (String query : queries) {
            String sql = Queries.text(query);
            rows(session.sql(sql)).write(file(query, "tsv"));
            FullResult full = FullResult.of(session, sql);
            rows(full.rows()).write(file(query, "full.tsv"));
            Properties about = new Properties();
            about.setProperty(KEY_COUNT, Integer.toString(full.keyCount()));
            full.limit().ifPresent(limit -> about.setProperty(LIMIT, Long.toString(limit)));
            try (Writer out = Files.newBufferedWriter(file(query, "properties"))) {
                about.store(out, null);
            }
        }
    }

    /**
     * Makes the tables of some queries temporary views of a session, with the settings under which {@link #store} ran them: no ANSI
     * mode, no broadcast joins, 16 partitions.
     *
     * @param tested a session with the shuffle that is tested
     * @param queries some of those stored
     */
    public void register(org.apache.spark.sql.SparkSession tested, List<String> queries) {
        SparkSettings.defaults().forEach((key, value) -> tested.conf().set(key, value));
        TpcdsTables.register(tested, data(), tables(queries));
    }

    private static List<String> tables(List<String> queries) {
        String texts = queries.stream().map(Queries::text).collect(Collectors.joining(" "));
        return TpcdsTables.names().stream()
                .filter(table -> Pattern.compile("(?i)\\b" + table + "\\b")
                        .matcher(texts)
                        .find())
                .toList();
    }

    /**
     * Runs a query and compares its rows with the stored ones, as {@link Verdict} has it.
     *
     * @param tested after {@link #register}
     * @param query one of those stored
     * @return nothing if the rows are equal or differ in ties only, else one finding per entry
     */
    public List<String> compare(org.apache.spark.sql.SparkSession tested, String query) throws IOException {
        SparkSession session = (SparkSession) tested;
        String sql = Queries.text(query);
        return Comparison.compare(
                        TypedRows.read(file(query, "tsv")),
                        rows(session.sql(sql)),
                        () -> storedFull(query),
                        () -> full(FullResult.of(session, sql)))
                .details();
    }

    /**
     * Returns how many rows a query has.
     *
     * @param query one of those stored
     */
    public int rowCount(String query) throws IOException {
        return TypedRows.read(file(query, "tsv")).rows().size();
    }

    private TieRules storedFull(String query) throws IOException {
        Properties about = new Properties();
        try (Reader in = Files.newBufferedReader(file(query, "properties"))) {
            about.load(in);
        }
        String limit = about.getProperty(LIMIT);
        return new TieRules(
                TypedRows.read(file(query, "full.tsv")),
                Integer.parseInt(about.getProperty(KEY_COUNT)),
                limit == null ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(limit)));
    }

    private static TieRules full(FullResult full) {
        return new TieRules(rows(full.rows()), full.keyCount(), full.limit());
    }

    private static TypedRows rows(Dataset<Row> result) {
        return TypedRows.of(result.schema(), result.collectAsList());
    }

    private String data() {
        return directory.resolve("data").toUri().toString();
    }

    private Path file(String query, String extension) {
        return directory.resolve(query + "." + extension);
    }
}
