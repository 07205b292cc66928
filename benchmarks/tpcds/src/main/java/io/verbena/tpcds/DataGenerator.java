package io.verbena.tpcds;

import io.trino.tpcds.Results;
import io.trino.tpcds.Session;
import io.trino.tpcds.Table;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Writes the TPC-DS tables as Parquet, from Trino's Java port of dsdgen.
 *
 * <p>A finished data set carries a marker file that names generator, layout, scale and, unless it is all, the tables; a folder with the same marker is used as it
 * is, any other is written anew. Not thread safe.
 */
final class DataGenerator {
    /** Raise when files written by an older version of this class must not be reused. */
    private static final int LAYOUT = 1;

    private static final String MARKER = "_generated";

    /** dsdgen gives tables below a million rows to the first chunk only ({@code io.trino.tpcds.Parallel}). */
    private static final long ROWS_PER_CHUNK = 500_000;

    /** Tables above this size are spread over several files, so that a scan has several tasks even at a small scale. */
    private static final long MIN_ROWS_TO_SPREAD = 10_000;

    private static final int FILES_PER_LARGE_TABLE = 4;

    private final SparkSession session;
    private final double scale;
    private final String dataDir;
    private final List<String> tables;

    /** @param dataDir a Hadoop path, to be owned by this data set alone */
    DataGenerator(SparkSession session, double scale, String dataDir) {
        this(session, scale, dataDir, TpcdsTables.names());
    }

    /**
     * Writes some tables only.
     *
     * @param dataDir a Hadoop path, to be owned by this data set alone
     */
    DataGenerator(SparkSession session, double scale, String dataDir, List<String> tables) {
        this.session = session;
        this.scale = scale;
        this.dataDir = dataDir;
        this.tables = tables;
    }

    /**
     * Writes what is missing.
     *
     * @param progress is told each finished table
     * @return true when data was written, false when the folder already held it
     * @throws IOException when the folder cannot be read or written
     */
    boolean generate(Consumer<String> progress) throws IOException {
        Path marker = new Path(dataDir, MARKER);
        FileSystem files = marker.getFileSystem(session.sparkContext().hadoopConfiguration());
        String wanted = "generator=io.trino.tpcds 1.4\nlayout=" + LAYOUT + "\nscale=" + scale + "\n"
                + (tables.equals(TpcdsTables.names()) ? "" : "tables=" + String.join(",", tables) + "\n");
        if (wanted.equals(readIfPresent(files, marker))) {
            return false;
        }
        files.delete(new Path(dataDir), true);
        writeTables(progress);
        try (FSDataOutputStream out = files.create(marker, true)) {
            out.write(wanted.getBytes(StandardCharsets.UTF_8));
        }
        return true;
    }

    private static String readIfPresent(FileSystem files, Path path) throws IOException {
        if (!files.exists(path)) {
            return "";
        }
        try (FSDataInputStream in = files.open(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Small tables are one task each: several tables at a time keep the cores busy. */
    private void writeTables(Consumer<String> progress) throws IOException {
        ExecutorService pool = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors(), task -> {
            Thread thread = new Thread(task, "verbena-tpcds-generator");
            thread.setDaemon(true);
            return thread;
        });
        try {
            ExecutorCompletionService<String> tables = new ExecutorCompletionService<>(pool);
            List<String> names = largestFirst();
            names.forEach(name -> tables.submit(() -> writeTable(name)));
            for (int done = 1; done <= names.size(); done++) {
                progress.accept(tables.take().get() + " (" + done + "/" + names.size() + ")");
            }
        } catch (ExecutionException e) {
            throw new IOException("cannot generate TPC-DS data: scale=" + scale + ", dataDir=" + dataDir, e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while generating TPC-DS data: dataDir=" + dataDir, e);
        } finally {
            pool.shutdownNow();
        }
    }

    private List<String> largestFirst() {
        Session dsdgen = Session.getDefaultSession().withScale(scale);
        List<String> names = new ArrayList<>(tables);
        names.sort((a, b) -> Long.compare(
                dsdgen.getScaling().getRowCount(Table.getTable(b)),
                dsdgen.getScaling().getRowCount(Table.getTable(a))));
        return names;
    }

    private String writeTable(String name) {
        StructType schema = TpcdsTables.schema(name);
        checkColumns(name, schema);
        long rows = Session.getDefaultSession().withScale(scale).getScaling().getRowCount(Table.getTable(name));
        int chunks = (int) Math.max(1, rows / ROWS_PER_CHUNK);
        Dataset<Row> text = session.range(1, chunks + 1L, 1, chunks)
                .mapPartitions(new Chunks(name, scale, chunks), Encoders.row(asStrings(schema)));
        Column[] typed = Arrays.stream(schema.fields())
                .map(field -> functions.col(field.name()).cast(field.dataType()).as(field.name()))
                .toArray(Column[]::new);
        Dataset<Row> table = text.select(typed);
        if (rows >= MIN_ROWS_TO_SPREAD && chunks < FILES_PER_LARGE_TABLE) {
            table = table.repartition(FILES_PER_LARGE_TABLE);
        }
        table.write().mode(SaveMode.Overwrite).parquet(TpcdsTables.path(dataDir, name));
        return name;
    }

    private static void checkColumns(String name, StructType schema) {
        List<String> generated = Arrays.stream(Table.getTable(name).getColumns())
                .map(io.trino.tpcds.column.Column::getName)
                .toList();
        if (generated.size() != schema.size()) {
            throw new IllegalStateException("generator and schema disagree: table=" + name + ", generated=" + generated
                    + ", schema=" + Arrays.toString(schema.fieldNames()));
        }
    }

    private static StructType asStrings(StructType schema) {
        return new StructType(Arrays.stream(schema.fields())
                .map(field -> DataTypes.createStructField(field.name(), DataTypes.StringType, true))
                .toArray(StructField[]::new));
    }

    /** Generates the rows of the chunks whose numbers (from 1) arrive. */
    private record Chunks(String table, double scale, int chunkCount) implements MapPartitionsFunction<Long, Row> {
        @Override
        public Iterator<Row> call(Iterator<Long> chunkNumbers) {
            if (!chunkNumbers.hasNext()) {
                return List.<Row>of().iterator();
            }
            Session dsdgen = Session.getDefaultSession()
                    .withScale(scale)
                    .withParallelism(chunkCount)
                    .withChunkNumber(chunkNumbers.next().intValue())
                    .withTable(Table.getTable(table));
            if (chunkNumbers.hasNext()) {
                throw new UncheckedIOException(new IOException("one chunk per task expected: table=" + table));
            }
            Iterator<List<List<String>>> rows =
                    Results.constructResults(Table.getTable(table), dsdgen).iterator();
            return new Iterator<>() {
                @Override
                public boolean hasNext() {
                    return rows.hasNext();
                }

                @Override
                public Row next() {
                    // The first list is this table's row; a sales table's second one, if any, is its return.
                    return RowFactory.create(rows.next().get(0).toArray());
                }
            };
        }
    }
}
