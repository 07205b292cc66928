package io.verbena.tpcds;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A query result as text that loses nothing: one tab-separated line per row, in the order in which Spark returned them, under a line
 * of column types. A null is {@code \N}; backslash, tab and line ends inside values are escaped; doubles are their shortest exact form.
 *
 * @param types Spark's names of the column types
 * @param rows cells, a null cell being a Java null; not to be modified
 */
record TypedRows(List<String> types, List<List<String>> rows) {
    private static final String NULL = "\\N";

    static TypedRows of(StructType schema, List<Row> rows) {
        List<String> types = Arrays.stream(schema.fields())
                .map(StructField::dataType)
                .map(type -> type.catalogString())
                .toList();
        return new TypedRows(types, rows.stream().map(TypedRows::cells).toList());
    }

    private static List<String> cells(Row row) {
        String[] cells = new String[row.size()];
        for (int i = 0; i < cells.length; i++) {
            Object value = row.get(i);
            if (value instanceof BigDecimal decimal) {
                cells[i] = decimal.toPlainString();
            } else {
                cells[i] = value == null ? null : value.toString();
            }
        }
        return Arrays.asList(cells);
    }

    void write(Path file) throws IOException {
        try (BufferedWriter out = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            out.write(String.join("\t", types));
            out.write('\n');
            for (List<String> row : rows) {
                out.write(line(row));
                out.write('\n');
            }
        }
    }

    static TypedRows read(Path file) throws IOException {
        try (BufferedReader in = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            String header = in.readLine();
            if (header == null) {
                throw new IOException("result file without column types: file=" + file);
            }
            List<List<String>> rows = new ArrayList<>();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                List<String> row = Arrays.stream(line.split("\t", -1))
                        .map(TypedRows::unescape)
                        .toList();
                rows.add(row);
            }
            return new TypedRows(List.of(header.split("\t", -1)), rows);
        }
    }

    /** @return the row as it stands in the file, also for showing it */
    static String line(List<String> row) {
        return row.stream().map(TypedRows::escape).collect(Collectors.joining("\t"));
    }

    private static String escape(String cell) {
        return cell == null
                ? NULL
                : cell.replace("\\", "\\\\")
                        .replace("\t", "\\t")
                        .replace("\n", "\\n")
                        .replace("\r", "\\r");
    }

    private static String unescape(String text) {
        if (text.equals(NULL)) {
            return null;
        }
        if (text.indexOf('\\') < 0) {
            return text;
        }
        StringBuilder cell = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '\\') {
                i++;
                char escaped = text.charAt(i);
                c = switch (escaped) {
                    case 't' -> '\t';
                    case 'n' -> '\n';
                    case 'r' -> '\r';
                    default -> escaped;
                };
            }
            cell.append(c);
        }
        return cell.toString();
    }
}
