package io.verbena.tpcds;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.execution.benchmark.TPCDSSchemaHelper;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** The 24 tables with the column types that Spark's own TPC-DS tests use (char and varchar columns read as string). */
final class TpcdsTables {
    private static final Map<String, StructType> SCHEMAS = schemas();

    private TpcdsTables() {}

    private static Map<String, StructType> schemas() {
        Map<String, StructType> schemas = new TreeMap<>();
        CollectionConverters.asJava(TPCDSSchemaHelper.getTableColumns())
                .forEach((table, schema) ->
                        schemas.put(table, CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema)));
        return schemas;
    }

    static List<String> names() {
        return List.copyOf(SCHEMAS.keySet());
    }

    /** @throws IllegalArgumentException for a table that TPC-DS does not have */
    static StructType schema(String table) {
        StructType schema = SCHEMAS.get(table);
        if (schema == null) {
            throw new IllegalArgumentException("no TPC-DS table of this name: table=" + table);
        }
        return schema;
    }

    static String path(String dataDir, String table) {
        return dataDir + "/" + table;
    }

    /** Makes each table under {@code dataDir} (a Hadoop path) a temporary view of its name. */
    static void register(SparkSession session, String dataDir) {
        register(session, dataDir, names());
    }

    /** Makes some tables temporary views. */
    static void register(SparkSession session, String dataDir, List<String> tables) {
        for (String table : tables) {
            Dataset<Row> rows = session.read().schema(schema(table)).parquet(path(dataDir, table));
            rows.createOrReplaceTempView(table);
        }
    }
}
